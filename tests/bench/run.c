/* What the contract itself takes: runs a module as `modbox run` does, with its arguments in a file of a directory of its own and its
 * output captured, but in no sandbox, with no policy, no limits and no report. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char captured[2][1 << 16];

/* Reads both streams to their ends; one after the other, a module that fills the second would wait forever. */
static size_t capture(int streams[2])
{
    size_t lengths[2] = {0, 0};
    struct pollfd waiting[2] = {{streams[0], POLLIN, 0}, {streams[1], POLLIN, 0}};
    while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
        if (poll(waiting, 2, -1) < 0)
            return 0;
        for (int i = 0; i < 2; i++) {
            if (waiting[i].fd < 0 || !waiting[i].revents)
                continue;
            ssize_t length = read(waiting[i].fd, captured[i] + lengths[i], sizeof captured[i] - 1 - lengths[i]);
            if (length <= 0)
                waiting[i].fd = -1;
            else
                lengths[i] += length;
        }
    }
    return lengths[0];
}

int main(int argc, char **argv)
{
    char dir[PATH_MAX], path[sizeof dir + 16];
    int out[2], err[2], status;
    pid_t child;
    posix_spawn_file_actions_t actions;
    const char *root = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/run-XXXXXX", root ? root : "/tmp");
    if (argc != 3 || !mkdtemp(dir) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
        return 1;
    snprintf(path, sizeof path, "%s/args.json", dir);
    FILE *file = fopen(path, "w");
    if (!file || fprintf(file, "{\"data\": \"%s\"}", argv[2]) < 0 || fclose(file))
        return 1;
    char *module[] = {argv[1], path, NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    if (posix_spawn(&child, argv[1], &actions, NULL, module, environ))
        return 1;
    close(out[1]);
    close(err[1]);
    size_t length = capture((int[]){out[0], err[0]});
    waitpid(child, &status, 0);
    unlink(path);
    rmdir(dir);
    char *result = memchr(captured[0], '{', length);
    if (!result || !WIFEXITED(status) || WEXITSTATUS(status))
        return 1;
    fwrite(result, 1, captured[0] + length - result, stdout);
    return 0;
}
