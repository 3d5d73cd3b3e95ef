/* Tries one thing, and says how it went: a module that is an executable. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char args[65536];

static void word(const char *key, char *value, size_t size) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": \"", key);
    const char *at = strstr(args, quoted);
    size_t length = 0;
    if (at)
        for (at += strlen(quoted); *at && *at != '"' && length + 1 < size; at++)
            value[length++] = *at;
    value[length] = 0;
}

static int fail(const char *what) {
    printf("{\"failed\": true, \"msg\": \"%s: %s\"}\n", what, strerror(errno));
    return 0;
}

int main(int argc, char **argv) {
    char op[64], what[4096], got[256] = "";
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || read(fd, args, sizeof args - 1) <= 0)
        return 2;
    word("op", op, sizeof op);
    word("what", what, sizeof what);
    errno = 0;
    if (!strcmp(op, "read")) {
        int file = open(what, O_RDONLY);
        if (file < 0 || read(file, got, sizeof got - 1) < 0)
            return fail("open");
        got[strcspn(got, "\t\n\"\\")] = 0;
    } else if (!strcmp(op, "write")) {
        int file = open(what, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (file < 0 || write(file, "written", 7) != 7)
            return fail("open");
        strcpy(got, "written");
    } else if (!strcmp(op, "env")) {
        const char *value = getenv(what);
        if (!value)
            return fail(what);
        snprintf(got, sizeof got, "%s", value);
    } else if (!strcmp(op, "connect")) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(what))};
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int one = socket(AF_INET, SOCK_STREAM, 0);
        if (one < 0 || connect(one, (struct sockaddr *)&address, sizeof address))
            return fail("connect");
        strcpy(got, "connected");
    } else if (!strcmp(op, "listen")) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(what))};
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int one = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
        setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (one < 0 || bind(one, (struct sockaddr *)&address, sizeof address) || listen(one, 1))
            return fail("bind");
        strcpy(got, "listening");
    } else if (!strcmp(op, "run")) {
        FILE *out = popen(what, "r");
        if (!out || !fgets(got, sizeof got, out))
            return fail("popen");
        got[strcspn(got, "\n")] = 0;
    }
    printf("{\"got\": \"%s\", \"changed\": false}\n", got);
    return 0;
}
