/* Runs a program and prints the names of its functions, in the order in which they are first called: the order in which
   a linker should put them, so that what a run needs lies in few pages.

   trace PROGRAM [ARG...] < `nm --defined-only --numeric-sort PROGRAM`

   It goes step by step through all threads, which takes a minute, for Linux on x86-64 and programs at a fixed address. Processes that
   the program starts are not followed. */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

struct function {
    unsigned long start;
    char *name;
    int called;
};

static struct function *functions;
static size_t count;

static void read_functions(void)
{
    char line[1 << 16], kind;
    static char name[1 << 16];
    unsigned long start;
    size_t room = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%lx %c %65535s", &start, &kind, name) != 3 || !strchr("tTwW", kind))
            continue;
        if (count == room) {
            room = room ? 2 * room : 1 << 16;
            functions = realloc(functions, room * sizeof *functions);
        }
        char *copy = strdup(name);
        if (!functions || !copy)
            exit(1);
        functions[count++] = (struct function){start, copy, 0};
    }
}

/* Prints the function of an address, and whatever else starts where it starts, the first time. */
static void called(unsigned long address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (functions[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || functions[low - 1].called)
        return;
    for (size_t at = low; at-- > 0 && functions[at].start == functions[low - 1].start;) {
        functions[at].called = 1;
        puts(functions[at].name);
    }
}

int main(int argc, char **argv)
{
    int status;
    if (argc < 2)
        return 2;
    read_functions();
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return 1;
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
    ptrace(PTRACE_SINGLESTEP, child, 0, 0);
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0)
            return 1;
        if (!WIFSTOPPED(status)) {
            if (thread == child)
                return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
            continue;
        }
        int signal = WSTOPSIG(status);
        /* Ticks of a clock that come quicker than steps would leave no time for them. */
        if (signal == SIGTRAP || signal == SIGSTOP || signal == SIGVTALRM)
            signal = 0;
        called(ptrace(PTRACE_PEEKUSER, thread, offsetof(struct user_regs_struct, rip), 0));
        ptrace(PTRACE_SINGLESTEP, thread, 0, signal);
    }
}
