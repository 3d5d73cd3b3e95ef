/* Replaces the file that the argument `path` names, by way of a temporary beside it, and looks for a neighbour. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int main(int argc, char **argv) {
    static char args[65536], path[4096], temporary[4200], neighbour[4200];
    FILE *file = fopen(argc > 1 ? argv[1] : "", "r");
    if (!file || !fread(args, 1, sizeof args - 1, file))
        return 1;
    char *found = strstr(args, "\"path\": \"");
    if (!found || sscanf(found, "\"path\": \"%4095[^\"]\"", path) != 1)
        return 1;
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    snprintf(neighbour, sizeof neighbour, "%.*s/neighbour", (int)(strrchr(path, '/') - path), path);
    file = fopen(temporary, "w");
    if (!file || fputs("from C", file) < 0 || fclose(file) || rename(temporary, path)) {
        printf("{\"failed\": true, \"msg\": \"%s\"}\n", strerror(errno));
        return 0;
    }
    struct stat stat_;
    const char *seen = stat(neighbour, &stat_) ? strerror(errno) : "there";
    printf("{\"changed\": true, \"seen\": \"replaced, neighbour: %s\"}\n", seen);
    return 0;
}
