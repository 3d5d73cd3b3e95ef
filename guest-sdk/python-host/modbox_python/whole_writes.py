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

from modbox_python import errors, file_systems, host, open_files

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
    open_files.turn(descriptor, os.O_WRONLY)
    try:
        return _all(lambda part: _system_write(descriptor, part), data, descriptor)
    finally:
        open_files.wrote(descriptor, data)


class File(io.FileIO):
    """A file without a buffer that is written, and perhaps read."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self._is_appended = open_files.is_appended(self.fileno())
        if self._is_appended:
            self.seek(0, os.SEEK_END)

    def write(self, data):
        """Writes all bytes."""
        number = self.fileno()
        open_files.turn(number, os.O_WRONLY)
        try:
            return _all(super().write, data, number)
        finally:
            open_files.wrote(number, data)

    def read(self, size=-1):
        """Reads some bytes, or all."""
        if size is None or size < 0:
            return self.readall()
        open_files.turn(self.fileno(), os.O_RDONLY)
        return open_files.read(self.fileno(), size) if self._is_read_at_own_place() else super().read(size)

    def readall(self):
        """Reads all bytes."""
        open_files.turn(self.fileno(), os.O_RDONLY)
        if self._is_read_at_own_place():
            return b"".join(iter(lambda: self.read(io.DEFAULT_BUFFER_SIZE), b""))
        return super().readall()

    def readinto(self, buffer):
        """Reads bytes into a buffer."""
        open_files.turn(self.fileno(), os.O_RDONLY)
        if not self._is_read_at_own_place():
            return super().readinto(buffer)
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[:len(data)] = data
        return len(data)

    def _is_read_at_own_place(self):
        return self._is_appended and self.readable()

    def seek(self, offset, whence=os.SEEK_SET):
        """Sets the position, and returns it."""
        return open_files.lseek(self.fileno(), offset, whence) if self._is_appended else super().seek(offset, whence)

    def tell(self):
        """Returns the position."""
        return self.seek(0, os.SEEK_CUR)

    def truncate(self, size=None):
        """Sets the size, by default to the position."""
        return super().truncate(self.tell() if size is None else size)

    def close(self):
        """Closes the file."""
        if self.closefd and not self.closed:
            open_files.forget(self.fileno())
        super().close()


def _stream(descriptor, handling):
    raw = File(descriptor, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors=handling, line_buffering=descriptor == 2)


def renew_streams():
    """Gives the standard streams buffers, and the error handlers that they have natively in the locale C.UTF-8."""
    sys.stdout = sys.__stdout__ = _stream(1, "surrogateescape")
    sys.stderr = sys.__stderr__ = _stream(2, "backslashreplace")
