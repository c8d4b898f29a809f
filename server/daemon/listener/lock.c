// SPDX-License-Identifier: Apache-2.0
#include "listener/lock.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static int lock_path(const char *path, char *lock, size_t size, kr_error *err)
{
    const size_t most = sizeof((struct sockaddr_un *) NULL)->sun_path - 1;
    const size_t length = strlen(path);
    if (length == 0 || length > most)
        return kr_error_set(err, KR_CODE_VALUE,
                            "the socket path has %zu bytes; Linux takes 1 to %zu. Choose a shorter "
                            "one: %s",
                            length, most, path);
    snprintf(lock, size, "%s.lock", path);
    return 0;
}

static int system_error(const char *what, const char *path, kr_error *err)
{
    const int saved = errno;
    const int code = saved == EACCES || saved == EPERM || saved == EROFS ? KR_CODE_PERMISSION
                                                                         : KR_CODE_SYSTEM;
    return kr_error_set(err, code, "cannot %s %s: %s%s", what, path, strerror(saved),
                        saved == ENOENT              ? ". Does its folder exist?"
                        : code == KR_CODE_PERMISSION ? ". Choose a folder that you may write to"
                                                     : "");
}

/* Whether the locked file is the one that the path names: its last owner may have removed it
 * between our open and our lock, and then somebody else may lock a new one. */
static bool is_current(int fd, const char *lock)
{
    struct stat ours, theirs;
    return fstat(fd, &ours) == 0 && stat(lock, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
           ours.st_dev == theirs.st_dev;
}

static int open_lock(const char *path, const char *lock, int *ret_fd, kr_error *err)
{
    for (;;) {
        auto_fd int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return system_error("open the lock file", lock, err);
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            char owner[32] = "";
            const ssize_t n = read(fd, owner, sizeof owner - 1);
            owner[n > 0 ? n : 0] = 0;
            return kr_error_set(err, KR_CODE_DUPLICATE,
                                "the socket %s is in use by kernrigd with process id %s: connect "
                                "to it, stop it, or choose another path",
                                path, owner[0] ? owner : "unknown");
        }
        if (is_current(fd, lock)) {
            *ret_fd = steal_fd(&fd);
            return 0;
        }
    }
}

int listener_lock(const char *path, int *ret_fd, kr_error *err)
{
    char lock[256], owner[32];
    auto_fd int fd = -1;
    int r = lock_path(path, lock, sizeof lock, err);
    if (r == 0)
        r = open_lock(path, lock, &fd, err);
    if (r < 0)
        return r;
    snprintf(owner, sizeof owner, "%d", (int) getpid());
    if (ftruncate(fd, 0) != 0 || write(fd, owner, strlen(owner)) != (ssize_t) strlen(owner))
        return system_error("write the lock file", lock, err);
    *ret_fd = steal_fd(&fd);
    return 0;
}

/* Whether somebody listens, or may: only a refused connection proves that nobody does. A socket of
 * another type, or one that we may not use, refuses with another error, and is alive. */
static bool is_live(const struct sockaddr_un *address)
{
    auto_fd int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return probe < 0 || connect(probe, (const struct sockaddr *) address, sizeof *address) == 0 ||
           (errno != ECONNREFUSED && errno != ENOENT);
}

/* A path that something else uses stays: only a socket that nobody listens on can be a dead
 * daemon's. The lock keeps our own kind away; other programs have none. */
static int remove_stale(const char *path, const struct sockaddr_un *address, kr_error *err)
{
    struct stat stat;
    if (lstat(path, &stat) != 0)
        return errno == ENOENT ? 0 : system_error("look at", path, err);
    if (!S_ISSOCK(stat.st_mode))
        return kr_error_set(err, KR_CODE_DUPLICATE,
                            "%s exists and is no socket: choose another path", path);
    if (is_live(address))
        return kr_error_set(err, KR_CODE_DUPLICATE,
                            "the socket %s is in use by another program: choose another path",
                            path);
    if (unlink(path) != 0 && errno != ENOENT)
        return system_error("remove the old socket", path, err);
    return 0;
}

int listener_bind(const char *path, mode_t mode, int *ret_fd, kr_error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    memcpy(address.sun_path, path, strlen(path));
    const int r = remove_stale(path, &address, err);
    if (r < 0)
        return r;
    auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "socket: %s", strerror(errno));
    /* The mask makes the socket right from its first moment on. Nothing else runs yet. */
    const mode_t mask = umask(0777 & ~mode);
    const int bound = bind(fd, (const struct sockaddr *) &address, sizeof address);
    umask(mask);
    if (bound != 0)
        return system_error("bind the socket", path, err);
    if (listen(fd, SOMAXCONN) != 0)
        return system_error("listen on", path, err);
    *ret_fd = steal_fd(&fd);
    return 0;
}

void listener_unlink(const char *path)
{
    unlink(path);
    listener_unlink_lock(path);
}

void listener_unlink_lock(const char *path)
{
    char lock[256];
    if (lock_path(path, lock, sizeof lock, NULL) == 0)
        unlink(lock);
}
