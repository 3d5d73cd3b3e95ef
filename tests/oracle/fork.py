"""Asks a `forking_python.py` for a process, which gets this one's streams, directory, umask and environment.

    python -ES fork.py ADDRESS ...      is, to Ansible, an interpreter

What follows the address names the module as on Python's command line: nothing for a program on stdin, a file, or `-m` and a name.
Little is imported here, since it is started for each module.
"""

import json
import os
import socket
import sys


def fork(address, arguments, streams=(0, 1, 2)):
    """Has a module run, and returns its exit status; that of a killed one where it said none."""
    umask = os.umask(0)
    os.umask(umask)
    asked = {"arguments": arguments, "directory": os.getcwd(), "umask": umask, "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(b"\0" + address.encode())
        message = json.dumps(asked).encode() + b"\n"
        sent = socket.send_fds(connection, [message], streams)
        connection.sendall(message[sent:])
        status = connection.recv(1)
    return status[0] if status else 137


if __name__ == "__main__":
    os._exit(fork(sys.argv[1], sys.argv[2:]))
