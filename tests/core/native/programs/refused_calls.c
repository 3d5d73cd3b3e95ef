/* Preloaded into a guest worker that its guest has taken over. Before the worker sends what a guest printed, this makes
 * the system calls that the printed text asks for:
 *
 *   call N   makes call N, which must be refused; if not, the worker ends with status 99
 *   die N    the same in a thread, while the worker kills itself
 *   flood    makes refused calls with many numbers, without end
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first number of x32: no list has these, and no kernel for other programs makes them. */
static const long X32 = 0x40000000;

static void refused(long number)
{
    if (syscall(number, 0, 0, 0, 0, 0, 0) != -1 || errno != EPERM)
        _exit(99);
}

static void *refused_in_thread(void *number)
{
    refused((long)number);
    return NULL;
}

/* Returns the number after a word of a text, or -1 if the word is not in it. The byte after a number is not a digit. */
static long number_after(const char *text, size_t length, const char *word)
{
    const char *found = memmem(text, length, word, strlen(word));
    return found ? strtol(found + strlen(word), NULL, 10) : -1;
}

static void attack(const char *text, size_t length)
{
    long number = number_after(text, length, "call ");
    if (number >= 0)
        refused(number);
    number = number_after(text, length, "die ");
    if (number >= 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, refused_in_thread, (void *)number);
        kill(getpid(), SIGKILL);
    }
    if (memmem(text, length, "flood", 5))
        for (long at = 0;; at++)
            refused(X32 + at % 500);
}

ssize_t write(int descriptor, const void *bytes, size_t length)
{
    static const char printed[] = "[{\"Printed\"";
    const char *frame = (const char *)bytes + 4;
    if (length > 4 + strlen(printed) && !memcmp(frame, printed, strlen(printed)))
        attack(frame, length - 4);
    return syscall(SYS_write, descriptor, bytes, length);
}
