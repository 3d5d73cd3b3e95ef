/* Returns a greeting, and writes it to the file `path` if that is given. */

#include <sys/stat.h>

#include "modbox.h"

/* Returns whether a file contains one line and nothing else. */
static int holds(const char *path, const char *line) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        if (errno != ENOENT) {
            modbox_fail("failed to read %s: %s", path, strerror(errno));
        }
        return 0;
    }
    size_t length = strlen(line), at = 0;
    int letter;
    while ((letter = getc(file)) != EOF && at <= length && letter == (at < length ? (unsigned char)line[at] : '\n')) {
        at++;
    }
    fclose(file);
    return letter == EOF && at == length + 1;
}

static void write_line(const char *path, const char *line) {
    FILE *file = fopen(path, "wb");
    if (!file || fprintf(file, "%s\n", line) < 0 || fclose(file)) {
        modbox_fail("failed to write %s: %s", path, strerror(errno));
    }
}

int main(int argc, char **argv) {
    const modbox_module *module = modbox_start(argc, argv);
    const char *name = modbox_text(module, "name");
    const char *path = modbox_optional_text(module, "path");
    long long number;
    int numbered = modbox_number(module, "n", &number), changed = 0;
    size_t room = strlen(name) + sizeof "hello !";
    char *greeting = modbox_memory(room);
    snprintf(greeting, room, "hello %s%s", name, modbox_flag(module, "loud") ? "!" : "");
    if (path) {
        struct stat found;
        if (!stat(path, &found) && S_ISDIR(found.st_mode)) {
            modbox_fail("%s is a folder", path);
        }
        changed = !holds(path, greeting);
        if (changed && !module->check_mode) {
            write_line(path, greeting);
        }
    }
    modbox_result_begin(changed);
    modbox_result_text("greeting", greeting);
    if (numbered) {
        modbox_result_number("n", number);
    } else {
        modbox_result_null("n");
    }
    if (module->check_mode) {
        modbox_result_flag("check", 1);
    }
    return modbox_result_end();
}
