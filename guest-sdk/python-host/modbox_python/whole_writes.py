"""Writes that are complete.

WASI takes 64 KiB at once, and returns how much it took. On Linux, a write to a file or a pipe takes everything, and
modules rely on that: what is left would be lost. CPython's own buffers write the rest, but `os.write`, files without a
buffer, and the standard streams, which have none in this interpreter, do not.
"""

import io
import os
import sys

_system_write = os.write


def write(descriptor, data):
    """Writes all bytes, as `os.write` does on Linux."""
    view, done = memoryview(data).cast("B"), 0
    while True:
        done += _system_write(descriptor, view[done:])
        if done >= len(view):
            return done


class File(io.FileIO):
    """A file without a buffer."""

    def write(self, data):
        """Writes all bytes."""
        view, done = memoryview(data).cast("B"), 0
        while True:
            done += super().write(view[done:]) or 0
            if done >= len(view):
                return done


def _stream(descriptor, handling):
    raw = File(descriptor, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors=handling, line_buffering=descriptor == 2)


def renew_streams():
    """Gives the standard streams buffers, and the error handlers that they have natively in the locale C.UTF-8."""
    sys.stdout = sys.__stdout__ = _stream(1, "surrogateescape")
    sys.stderr = sys.__stderr__ = _stream(2, "backslashreplace")
