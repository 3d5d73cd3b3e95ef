/* Helper for modules in C: arguments, check mode and result. Include this header in one file. It needs C11 and no
 * libraries.
 *
 *     #include "modbox.h"
 *
 *     int main(int argc, char **argv) {
 *         modbox_module *module = modbox_start(argc, argv);
 *         const char *name = modbox_text(module, "name");
 *         modbox_result_begin(0);
 *         modbox_result_text("greeting", name);
 *         return modbox_result_end();
 *     }
 *
 * Arguments are texts, numbers, bools, or null; lists and objects are passed as JSON. Returned texts are never freed. */

#ifndef MODBOX_H
#define MODBOX_H

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest arguments file. */
#define MODBOX_MAX_ARGUMENTS (64L << 20)

/* How deep lists and objects may nest. */
#define MODBOX_MAX_DEPTH 200

/* A key of the arguments, and its value as JSON. */
typedef struct {
    char *key;
    const char *value;
    size_t length;
} modbox_argument;

/* The current run. */
typedef struct {
    modbox_argument *arguments;
    size_t count;
    int check_mode;
    int diff;
} modbox_module;

/* Writes a text as JSON. */
static void modbox_print_text(const char *text) {
    putchar('"');
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\') {
            printf("\\%c", *at);
        } else if (*at < 0x20) {
            printf("\\u%04x", *at);
        } else {
            putchar(*at);
        }
    }
    putchar('"');
}

/* Ends the module with a failed result. */
__attribute__((noreturn, format(printf, 1, 2))) static void modbox_fail(const char *format, ...) {
    char message[4096];
    va_list rest;
    va_start(rest, format);
    vsnprintf(message, sizeof message, format, rest);
    va_end(rest);
    fputs("{\"failed\": true, \"msg\": ", stdout);
    modbox_print_text(message);
    fputs("}\n", stdout);
    fflush(stdout);
    exit(1);
}

static void *modbox_memory(size_t length) {
    void *memory = malloc(length ? length : 1);
    if (!memory) {
        modbox_fail("failed to allocate memory");
    }
    return memory;
}

static const char *modbox_after_space(const char *at) {
    return at + strspn(at, " \t\r\n");
}

/* Returns the end of the string that starts at `at`. */
static const char *modbox_after_string(const char *at) {
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1]) {
            at++;
        }
    }
    if (!*at) {
        modbox_fail("failed to read the arguments: a string is not closed");
    }
    return at + 1;
}

/* Returns the end of a value of any type. */
static const char *modbox_after_value(const char *at) {
    int depth = 0;
    do {
        at = modbox_after_space(at);
        if (!*at) {
            modbox_fail("failed to read the arguments: a list or an object is not closed");
        } else if (*at == '"') {
            at = modbox_after_string(at);
        } else if (*at == '{' || *at == '[') {
            if (++depth > MODBOX_MAX_DEPTH) {
                modbox_fail("failed to read the arguments: they nest deeper than %d levels", MODBOX_MAX_DEPTH);
            }
            at++;
        } else if (*at == '}' || *at == ']') {
            depth--;
            at++;
        } else if (depth && (*at == ',' || *at == ':')) {
            at++;
        } else {
            size_t length = strcspn(at, ",:]} \t\r\n");
            if (!length) {
                modbox_fail("failed to read the arguments: a value is missing");
            }
            at += length;
        }
    } while (depth > 0);
    return at;
}

/* Reads the four digits after `\u`. */
static unsigned modbox_digits(const char *at) {
    unsigned value = 0;
    for (int index = 0; index < 4; index++) {
        char digit = at[index];
        if (!isxdigit((unsigned char)digit)) {
            modbox_fail("failed to read the arguments: `\\u` needs four hexadecimal digits");
        }
        value = value * 16 + (unsigned)(isdigit((unsigned char)digit) ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    return value;
}

static char *modbox_put_letter(char *out, unsigned letter) {
    if (letter < 0x80) {
        *out++ = (char)letter;
    } else if (letter < 0x800) {
        *out++ = (char)(0xc0 | letter >> 6);
        *out++ = (char)(0x80 | (letter & 0x3f));
    } else if (letter < 0x10000) {
        *out++ = (char)(0xe0 | letter >> 12);
        *out++ = (char)(0x80 | (letter >> 6 & 0x3f));
        *out++ = (char)(0x80 | (letter & 0x3f));
    } else {
        *out++ = (char)(0xf0 | letter >> 18);
        *out++ = (char)(0x80 | (letter >> 12 & 0x3f));
        *out++ = (char)(0x80 | (letter >> 6 & 0x3f));
        *out++ = (char)(0x80 | (letter & 0x3f));
    }
    return out;
}

/* Returns the text of a JSON string, in UTF-8. */
static char *modbox_decode(const char *at, size_t length) {
    const char *end = at + length - 1;
    char *text = modbox_memory(length), *out = text;
    for (at++; at < end; at++) {
        if (*at != '\\') {
            *out++ = *at;
            continue;
        }
        static const char marks[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
        const char *mark = strchr(marks, *++at);
        if (mark && *mark) {
            *out++ = meant[mark - marks];
            continue;
        }
        if (*at != 'u' || end - at < 5) {
            modbox_fail("failed to read the arguments: unknown escape `\\%c`", *at);
        }
        unsigned letter = modbox_digits(at + 1);
        at += 4;
        if (letter >= 0xd800 && letter < 0xdc00 && end - at > 6 && at[1] == '\\' && at[2] == 'u') {
            unsigned low = modbox_digits(at + 3);
            if (low >= 0xdc00 && low < 0xe000) {
                letter = 0x10000 + ((letter - 0xd800) << 10) + (low - 0xdc00);
                at += 6;
            }
        }
        if (letter == 0) {
            modbox_fail("failed to read the arguments: a text contains the character 0, which C cannot represent");
        }
        out = modbox_put_letter(out, letter);
    }
    *out = 0;
    return text;
}

static char *modbox_read(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        modbox_fail("failed to read `%s`: %s", path, strerror(errno));
    }
    size_t length = 0, room = 1 << 16;
    char *bytes = modbox_memory(room);
    for (size_t read; (read = fread(bytes + length, 1, room - length - 1, file)) > 0;) {
        length += read;
        if (length >= (size_t)MODBOX_MAX_ARGUMENTS) {
            modbox_fail("failed to read the arguments: they are longer than %ld bytes", MODBOX_MAX_ARGUMENTS);
        }
        if (length + 1 == room && !(bytes = realloc(bytes, room *= 2))) {
            modbox_fail("failed to allocate memory");
        }
    }
    fclose(file);
    bytes[length] = 0;
    return bytes;
}

/* Reads the arguments from the file that the program's only argument names. */
static modbox_module *modbox_start(int argc, char **argv) {
    if (argc != 2) {
        modbox_fail("a module takes one argument, the path of a JSON file with its arguments");
    }
    modbox_module *module = modbox_memory(sizeof *module);
    *module = (modbox_module){0};
    size_t room = 16;
    module->arguments = modbox_memory(room * sizeof *module->arguments);
    const char *at = modbox_after_space(modbox_read(argv[1]));
    if (*at != '{') {
        modbox_fail("failed to read the arguments: they are not a JSON object");
    }
    at = modbox_after_space(at + 1);
    while (*at == '"') {
        const char *end = modbox_after_string(at);
        modbox_argument found = {modbox_decode(at, (size_t)(end - at)), NULL, 0};
        at = modbox_after_space(end);
        if (*at != ':') {
            modbox_fail("failed to read the arguments: a key has no value");
        }
        found.value = modbox_after_space(at + 1);
        at = modbox_after_value(found.value);
        found.length = (size_t)(at - found.value);
        int is_true = found.length == 4 && !strncmp(found.value, "true", 4);
        /* Ansible's internal arguments begin with `_ansible_`. */
        module->check_mode |= is_true && !strcmp(found.key, "_ansible_check_mode");
        module->diff |= is_true && !strcmp(found.key, "_ansible_diff");
        if (strncmp(found.key, "_ansible_", 9)) {
            if (module->count == room &&
                !(module->arguments = realloc(module->arguments, (room *= 2) * sizeof *module->arguments))) {
                modbox_fail("failed to allocate memory");
            }
            module->arguments[module->count++] = found;
        }
        at = modbox_after_space(at);
        at = *at == ',' ? modbox_after_space(at + 1) : at;
    }
    if (*at != '}') {
        modbox_fail("failed to read the arguments: the object is not closed");
    }
    return module;
}

/* Returns an argument as text, or NULL if it is missing or null. */
static const char *modbox_optional_text(const modbox_module *module, const char *key) {
    /* The last of equal keys counts. */
    for (size_t index = module->count; index > 0; index--) {
        const modbox_argument *argument = &module->arguments[index - 1];
        if (strcmp(argument->key, key)) {
            continue;
        }
        if (argument->length == 4 && !strncmp(argument->value, "null", 4)) {
            return NULL;
        }
        if (*argument->value == '"') {
            return modbox_decode(argument->value, argument->length);
        }
        char *text = modbox_memory(argument->length + 1);
        memcpy(text, argument->value, argument->length);
        text[argument->length] = 0;
        return text;
    }
    return NULL;
}

/* Returns a required argument as text. */
static inline const char *modbox_text(const modbox_module *module, const char *key) {
    const char *text = modbox_optional_text(module, key);
    if (!text) {
        modbox_fail("missing required arguments: %s", key);
    }
    return text;
}

/* Reads a whole number, and returns whether it was given. Numbers from KEY=VALUE arrive as text. */
static inline int modbox_number(const modbox_module *module, const char *key, long long *number) {
    const char *text = modbox_optional_text(module, key);
    char *end;
    if (!text) {
        return 0;
    }
    errno = 0;
    *number = strtoll(text, &end, 10);
    if (errno || end == text || *end) {
        modbox_fail("argument '%s' is not a whole number: %s", key, text);
    }
    return 1;
}

/* Returns whether an argument is true. */
static inline int modbox_flag(const modbox_module *module, const char *key) {
    static const char *const words[] = {"true", "yes", "on", "1"};
    const char *text = modbox_optional_text(module, key);
    for (size_t index = 0; text && index < sizeof words / sizeof *words; index++) {
        const char *word = words[index];
        size_t at = 0;
        while (word[at] && tolower((unsigned char)text[at]) == word[at]) {
            at++;
        }
        if (!word[at] && !text[at]) {
            return 1;
        }
    }
    return 0;
}

/* Begins a result. Its entries and its end follow; `modbox_fail` must not be called in between. */
static inline void modbox_result_begin(int changed) {
    printf("{\"changed\": %s", changed ? "true" : "false");
}

static inline void modbox_result_key(const char *key) {
    fputs(", ", stdout);
    modbox_print_text(key);
    fputs(": ", stdout);
}

static inline void modbox_result_text(const char *key, const char *text) {
    modbox_result_key(key);
    modbox_print_text(text);
}

static inline void modbox_result_number(const char *key, long long number) {
    modbox_result_key(key);
    printf("%lld", number);
}

static inline void modbox_result_flag(const char *key, int flag) {
    modbox_result_key(key);
    fputs(flag ? "true" : "false", stdout);
}

static inline void modbox_result_null(const char *key) {
    modbox_result_key(key);
    fputs("null", stdout);
}

/* Ends the result, and returns the program's exit status. */
static inline int modbox_result_end(void) {
    fputs("}\n", stdout);
    return fflush(stdout) ? 1 : 0;
}

#endif
