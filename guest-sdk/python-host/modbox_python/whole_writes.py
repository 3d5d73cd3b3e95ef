"""Writes that are complete, or fail with the cause.

WASI takes 64 KiB at once, and returns how much it took. On Linux, a write to a file or a pipe takes everything, and
modules rely on that: what is left would be lost. CPython's own buffers write the rest, but `os.write`, files without a
buffer, and the standard streams, which have none in this interpreter, do not.

WASI's C library reports each write that failed as an input/output error, a full disk, too.
"""

import errno
import io
import os
import sys

from modbox_python import errors, file_systems, host

_system_write = os.write


def _all(write, data, descriptor):
    """Writes all bytes with a function that may write some, and returns their number."""
    view, done = memoryview(data).cast("B"), 0
    while True:
        try:
            done += write(view[done:]) or 0
        except OSError as raised:
            if not host.is_live():
                raise
            raise _cause(raised, descriptor) from None
        if done >= len(view):
            return done


def _cause(raised, descriptor):
    """Returns the error of a write with its cause."""
    if raised.errno == errno.EIO and _is_full(descriptor):
        return errors.error(errno.ENOSPC)
    return errors.renew(raised)


def _is_full(descriptor):
    try:
        return file_systems.statvfs(descriptor).f_bavail == 0
    except OSError:
        return False


def write(descriptor, data):
    """Writes all bytes, as `os.write` does on Linux."""
    return _all(lambda part: _system_write(descriptor, part), data, descriptor)


class File(io.FileIO):
    """A file without a buffer."""

    def write(self, data):
        """Writes all bytes."""
        return _all(super().write, data, self.fileno())


def _stream(descriptor, handling):
    raw = File(descriptor, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors=handling, line_buffering=descriptor == 2)


def renew_streams():
    """Gives the standard streams buffers, and the error handlers that they have natively in the locale C.UTF-8."""
    sys.stdout = sys.__stdout__ = _stream(1, "surrogateescape")
    sys.stderr = sys.__stderr__ = _stream(2, "backslashreplace")
