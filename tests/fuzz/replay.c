// SPDX-License-Identifier: Apache-2.0
/* Feeds a fuzz target the files of its corpus, without a fuzzing engine: what was found once is
 * tried again by every test run. Each input is tried whole and cut at every eighth of its length,
 * in memory of exactly its size, so that a sanitizer sees a read beyond it. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int feed_file(const char *folder, const char *name)
{
    static uint8_t bytes[1 << 20];
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return -1;
    }
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t eighth = 1; eighth <= 8; eighth++)
        feed(bytes, size * eighth / 8);
    return 0;
}

int main(int argc, char **argv)
{
    int n = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 2;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        if (feed_file(argv[1], entry->d_name) < 0)
            return 1;
        n++;
    }
    closedir(folder);
    printf("%d inputs replayed\n", n);
    return n ? 0 : 1;
}
