#!/usr/bin/env python3
"""Runs a program on a terminal of its own and types what a test says.

    python3 tests/terminal.py SECONDS STEPS PROGRAM [ARGUMENT]...

STEPS is a JSON list of pairs: a text to wait for, and the keys that are typed, all at once, as soon as it is there. A third item is
a command for the shell that is run before, with the program's number in PID. What the program prints is printed. The exit status is that of the program, or 124 if a text or the end does not come in time.
"""

import json
import os
import pty
import select
import subprocess
import sys
import time


def main():
    deadline = time.monotonic() + float(sys.argv[1])
    steps = json.loads(sys.argv[2])
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[3], sys.argv[3:])
    seen = b""
    while True:
        if steps and (at := seen.find(steps[0][0].encode())) >= 0:
            awaited, keys, *command = steps.pop(0)
            for text in command:
                subprocess.run(text, shell=True, check=True, env=dict(os.environ, PID=str(pid)))
            seen = seen[at + len(awaited.encode()):]
            os.write(terminal, keys.encode())
            continue
        if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
            print(f"\nterminal.py: out of time, before {steps}", flush=True)
            os._exit(124)  # the hang-up of the terminal ends the program
        try:
            read = os.read(terminal, 4096)
        except OSError:
            read = b""  # Linux says so when the last process has closed the terminal
        if not read:
            break
        os.write(1, read)
        seen += read
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


main()
