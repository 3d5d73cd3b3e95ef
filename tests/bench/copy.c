/* Copies each file of a directory beside the file with the same name in another one, with its mode, owner and time, and renames the
 * copy over that file. Prints how long that took, in microseconds. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char bytes[1 << 16];

static int copy(int from, int to, const char *name)
{
    char beside[300];
    struct stat stat;
    ssize_t length;
    snprintf(beside, sizeof beside, ".copy-%s", name);
    int source = openat(from, name, O_RDONLY | O_CLOEXEC);
    int target = openat(to, beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (source < 0 || target < 0 || fstat(source, &stat))
        return -1;
    while ((length = read(source, bytes, sizeof bytes)) > 0)
        if (write(target, bytes, length) != length)
            return -1;
    struct timespec times[2] = {stat.st_atim, stat.st_mtim};
    if (length < 0 || fchown(target, stat.st_uid, stat.st_gid) || fchmod(target, stat.st_mode & 07777) ||
        futimens(target, times))
        return -1;
    close(source);
    close(target);
    return renameat(to, beside, to, name);
}

int main(int argc, char **argv)
{
    struct timespec begun, ended;
    struct dirent *entry;
    if (argc != 3)
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    int to = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *from = opendir(argv[1]);
    if (to < 0 || !from)
        return 1;
    while ((entry = readdir(from)))
        if (entry->d_name[0] != '.' && copy(dirfd(from), to, entry->d_name))
            return 1;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("%lld\n", (ended.tv_sec - begun.tv_sec) * 1000000LL + (ended.tv_nsec - begun.tv_nsec) / 1000);
    return 0;
}
