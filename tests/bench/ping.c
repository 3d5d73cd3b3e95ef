/* The floor for one process and one run: reads its arguments file and prints a result, and does nothing else. */
#include <stdio.h>
#include <string.h>

static char args[1 << 16];

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file)
        return 1;
    size_t length = fread(args, 1, sizeof args - 1, file);
    args[length] = 0;
    char data[256] = "pong";
    char *given = strstr(args, "\"data\": \"");
    if (given)
        sscanf(given, "\"data\": \"%255[^\"]", data);
    printf("{\"changed\": false, \"ping\": \"%s\"}\n", data);
    return 0;
}
