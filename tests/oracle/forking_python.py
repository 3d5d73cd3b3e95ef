"""A Python that has imported what Ansible's modules import, and forks for each one that it is to run.

    python forking_python.py -m ansible playbook ...

runs Ansible so that its modules do. Otherwise each begins with a third of a second of imports, out of a zip file without compiled
code, and a comparison of hundreds of tasks takes minutes for nothing else. What a module runs is still the code of that
release, in a process of its own. `fork.py` asks for one.
"""

import atexit
import contextlib
import gc
import json
import os
import runpy
import selectors
import shlex
import socket
import subprocess
import sys
import tempfile
import traceback

# What nearly all modules import, and what those that ask servers do.
IMPORTED = "ansible.module_utils.basic", "ansible.module_utils.urls"
# Ansible wants an interpreter to be one program.
INTERPRETER = '#!/bin/sh\nexec {python} -ES {fork} {address} "$@"\n'


class ForkingPython:
    """The process that forks, and where it is asked. It ends with the process that has started it."""

    def __init__(self, python=sys.executable, environment=None):
        with socket.socket(socket.AF_UNIX) as listener:
            # An abstract one: no file is left, and a name is not bound by the length of a folder's.
            listener.bind(b"")
            listener.listen(16)
            self.address = listener.getsockname()[1:].decode()
            command = [python, os.path.abspath(__file__), "--serve", str(listener.fileno())]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[listener.fileno()], env=environment)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def serve(listener):
    """Forks for all who ask, until nobody holds the other end of the standard input."""
    for name in IMPORTED:
        __import__(name)
    # In a module's zip file it has more parts, such as the module.
    del sys.modules["ansible"]
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(0, selectors.EVENT_READ)
    while all(key.fileobj is listener for key, _ in selector.select()):
        connection, _ = listener.accept()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # those that have ended
                pass
        if os.fork() == 0:
            selector.close()
            listener.close()
            answer(connection)
        connection.close()


def answer(connection):
    """Is the process of one module."""
    message, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    while not message.endswith(b"\n"):
        message += connection.recv(1 << 20)
    asked = json.loads(message)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(asked["directory"])
    os.umask(asked["umask"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.stdin, sys.stdout, sys.stderr = (open(number, mode, closefd=False) for number, mode in enumerate("rww"))
    connection.send(bytes([run(asked["arguments"]) & 255]))
    os._exit(0)


def run(arguments):
    """Runs a module as Python would, and returns its exit status."""
    status = 0
    try:
        if arguments[:1] == ["-m"]:
            sys.argv = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__")
        elif arguments:
            sys.argv = arguments
            runpy.run_path(arguments[0], run_name="__main__")
        else:
            sys.argv = [""]
            main = sys.modules["__main__"] = type(sys)("__main__")
            exec(compile(sys.stdin.read(), "<stdin>", "exec"), main.__dict__)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    gc.collect()  # what was written to files that are left open reaches them, as at the end of a process
    atexit._run_exitfuncs()  # modules leave it to them to remove their temporary folders
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(socket.socket(fileno=int(sys.argv[2])))
    python = ForkingPython()
    with tempfile.TemporaryDirectory() as folder:
        interpreter = os.path.join(folder, "python")
        fork = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fork.py")
        words = {"python": sys.executable, "fork": fork, "address": python.address}
        with open(interpreter, "w") as file:
            file.write(INTERPRETER.format(**{key: shlex.quote(word) for key, word in words.items()}))
        os.chmod(interpreter, 0o755)
        variable = json.dumps({"ansible_python_interpreter": interpreter})
        status = subprocess.run([sys.executable, *sys.argv[1:], "--extra-vars", variable]).returncode
    python.end()
    return status


if __name__ == "__main__":
    sys.exit(main())
