// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include "base/build.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <unistd.h>

static const char help[] =
    "kernrigd: runs tensor kernels in worker processes, for clients on a Unix socket.\n"
    "\n"
    "  kernrigd --socket PATH [options]\n"
    "\n"
    "  --socket PATH        listen here; one daemon per path\n"
    "  --mode MODE          of the socket, octal: 0600 (the default), or 0660 for a group\n"
    "  --log FILE           write the log there, as lines of JSON; - is stderr\n"
    "  --log-level LEVEL    debug, info (the default), warning, error or off\n"
    "  --limit NAME=VALUE   change a limit; may be repeated. See docs/limits.md\n"
    "  --worker PATH        the worker binary, else kernrig-worker beside kernrigd\n"
    "  --kernels PATH       the library of portable kernels, else the one beside kernrigd\n"
    "  --ready-fd N         write \"ready\" to this descriptor once calls are taken\n"
    "  --embedded --owner PID   end when that process ends\n"
    "  --test-library FILE  load kernels for a test, believed by nobody; may be repeated\n"
    "  --version, --help\n"
    "\n"
    "SIGTERM or SIGINT stop it: calls under way have the limit grace_ms to end.\n"
    "Usually it is started by `kernrig serve`, or by a client that needs one.\n";

enum { LIMIT = 256, LOG, LOG_LEVEL_, WORKER, KERNELS, READY, EMBEDDED, OWNER, TEST, MODE, SOCKET };

static const struct option long_options[] = {
    { "socket", required_argument, NULL, SOCKET },
    { "mode", required_argument, NULL, MODE },
    { "log", required_argument, NULL, LOG },
    { "log-level", required_argument, NULL, LOG_LEVEL_ },
    { "limit", required_argument, NULL, LIMIT },
    { "worker", required_argument, NULL, WORKER },
    { "kernels", required_argument, NULL, KERNELS },
    { "ready-fd", required_argument, NULL, READY },
    { "embedded", no_argument, NULL, EMBEDDED },
    { "owner", required_argument, NULL, OWNER },
    { "test-library", required_argument, NULL, TEST },
    { "version", no_argument, NULL, 'V' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static int parse_number(const char *option, const char *text, int base, long most, long *ret,
                        kr_error *err)
{
    char *end;
    errno = 0;
    const long value = strtol(text, &end, base);
    if (errno || end == text || *end || value < 0 || value > most)
        return kr_error_set(err, KR_CODE_VALUE, "--%s %s: wants %s number up to %ld", option, text,
                            base == 8 ? "an octal" : "a", most);
    *ret = value;
    return 0;
}

static int take(struct options *o, int option, const char *value, kr_error *err)
{
    long number = 0;
    int r = 0;
    switch (option) {
    case SOCKET: o->socket = value; break;
    case MODE:
        r = parse_number("mode", value, 8, 0777, &number, err);
        o->mode = (mode_t) number;
        break;
    case LOG: o->log = value; break;
    case LOG_LEVEL_:
        if (!log_parse_level(value, &o->log_level))
            r = kr_error_set(err, KR_CODE_VALUE,
                             "--log-level %s: there are debug, info, warning, error and off",
                             value);
        break;
    case LIMIT: r = limits_set(&o->limits, value, err); break;
    case WORKER: o->worker = value; break;
    case KERNELS: o->library = value; break;
    case READY:
        r = parse_number("ready-fd", value, 10, INT_MAX, &number, err);
        o->ready_fd = (int) number;
        break;
    case EMBEDDED: o->is_embedded = true; break;
    case OWNER:
        r = parse_number("owner", value, 10, INT_MAX, &number, err);
        o->owner = (pid_t) number;
        break;
    case TEST:
        if (o->n_test_libraries == OPTIONS_LIBRARIES)
            return kr_error_set(err, KR_CODE_LIMIT, "--test-library: at most %d",
                                OPTIONS_LIBRARIES);
        o->test_libraries[o->n_test_libraries++] = value;
        break;
    default: break;
    }
    return r;
}

/* Where things are by default: all three come from one build, whether installed or not. */
static int find_siblings(struct options *o, kr_error *err)
{
    static char binary[PATH_MAX], worker[PATH_MAX + 32], library[PATH_MAX + 64];
    const ssize_t n = readlink("/proc/self/exe", binary, sizeof binary - 1);
    if (n < 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "/proc/self/exe: %s", strerror(errno));
    binary[n] = 0;
    const char *slash = strrchr(binary, '/');
    const int folder = (int) (slash - binary);
    o->binary = binary;
    snprintf(worker, sizeof worker, "%.*s/kernrig-worker", folder, binary);
    /* Beside us in a build; in ../lib when installed. */
    snprintf(library, sizeof library, "%.*s/lib/kernrig/libkernrig_portable.so", folder, binary);
    if (access(library, R_OK) != 0)
        snprintf(library, sizeof library, "%.*s/../lib/kernrig/libkernrig_portable.so", folder,
                 binary);
    if (!o->worker)
        o->worker = worker;
    if (!o->library)
        o->library = library;
    return 0;
}

enum options_verdict options_parse(int argc, char **argv, struct options *ret, kr_error *err)
{
    struct options o = { .mode = 0600, .ready_fd = -1, .log_level = LOG_INFO };
    int option;
    limits_init(&o.limits);
    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return OPTIONS_EXIT;
        }
        if (option == 'V') {
            printf("kernrigd %s, build %s\n", build_version, build_id);
            return OPTIONS_EXIT;
        }
        if (option == '?') {
            kr_error_set(err, KR_CODE_VALUE,
                         "%s: no such option, or its value is missing; see --help",
                         argv[optind - 1]);
            return OPTIONS_WRONG;
        }
        if (take(&o, option, optarg, err) < 0)
            return OPTIONS_WRONG;
    }
    int r = 0;
    if (optind < argc)
        r = kr_error_set(err, KR_CODE_VALUE, "%s: kernrigd takes options only; see --help",
                         argv[optind]);
    else if (!o.socket)
        r = kr_error_set(err, KR_CODE_VALUE, "--socket PATH is needed; see --help");
    else if (o.is_embedded && o.owner == 0)
        r = kr_error_set(err, KR_CODE_VALUE, "--embedded needs --owner PID; see --help");
    if (r == 0)
        r = find_siblings(&o, err);
    if (r < 0)
        return OPTIONS_WRONG;
    *ret = o;
    return OPTIONS_RUN;
}
