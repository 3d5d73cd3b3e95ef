"""Remembers the paths of open files, so that `os.fstat` and `os.fchmod` have modes and owners.

The host has attributes by path only. Before a remembered path is used, the file at the path is compared with the open
file. If it is another one, or if the path is unknown, the call fails; attributes are never made up.
"""

import errno
import os
import posixpath
import stat as bits

from modbox_python import attributes, errors, names

_system_fstat, _system_stat, _system_dup = errors.renewing(os.fstat), os.stat, errors.renewing(os.dup)
_system_read, _system_pread = errors.renewing(os.read), errors.renewing(os.pread)
_system_write, _system_writev = errors.renewing(os.write), errors.renewing(getattr(os, "writev", os.write))
_system_lseek, _system_ftruncate = errors.renewing(os.lseek), errors.renewing(os.ftruncate)
_files = {}


class _File:
    """What is known of an open file.

    `name` is the absolute path, as the host's text; `access` what it was opened for; `last` what was done last. `position` is
    the place of the next read in a file that is appended to, and otherwise `None`: WASI's C library has it.
    """

    __slots__ = ("name", "access", "last", "position")

    def __init__(self, name, access, position):
        self.name, self.access, self.position, self.last = name, access, position, None


def remember(descriptor, name, flags):
    """Remembers the absolute path and the flags of an open file."""
    _files[descriptor] = _File(name, flags & os.O_ACCMODE, 0 if flags & os.O_APPEND else None)


def forget(descriptor):
    """Forgets a file that is closed."""
    _files.pop(descriptor, None)


def renamed(old, new):
    """Follows a file or directory to its new absolute path."""
    old, new = old.rstrip("/"), new.rstrip("/")
    for file in _files.values():
        if file.name == old or file.name.startswith(old + "/"):
            file.name = new + file.name[len(old):]


def name_of(descriptor):
    """Returns the absolute path of an open file."""
    opened = _system_fstat(descriptor)
    file = _files.get(descriptor)
    if file is None:
        raise errors.error(errno.ENOTSUP)
    if not _is_same(file.name, opened):
        # WASI's C library tells the number of a link, not of its target.
        real = names.to_host(posixpath.realpath(names.from_host(file.name)))
        if real == file.name or not _is_same(real, opened):
            raise errors.error(errno.ESTALE)
        file.name = real
    return file.name


def _is_same(name, opened):
    try:
        there = _system_stat(name)
    except OSError as raised:
        raise errors.renew(raised) from None
    return (there.st_ino, there.st_dev) == (opened.st_ino, opened.st_dev)


def read(descriptor, length):
    """Reads from an open file, as `os.read`."""
    file = _files.get(descriptor)
    if file is None or file.position is None:
        turn(descriptor, os.O_RDONLY)
        return _system_read(descriptor, length)
    data = _system_pread(descriptor, length, file.position)
    file.position += len(data)
    return data


def wrote(descriptor, data):
    """Notes that data was written to an open file. One that is appended to is then at its end."""
    file = _files.get(descriptor)
    if file is not None and file.position is not None and memoryview(data).nbytes:
        file.position = _system_fstat(descriptor).st_size


def lseek(descriptor, offset, whence=os.SEEK_SET):
    """Sets the position of an open file, as `os.lseek`."""
    file = _files.get(descriptor)
    if file is None or file.position is None:
        return _system_lseek(descriptor, offset, whence)
    begins = {os.SEEK_SET: 0, os.SEEK_CUR: file.position}
    begin = _system_fstat(descriptor).st_size if whence == os.SEEK_END else begins.get(whence)
    if begin is None or begin + offset < 0:
        raise errors.error(errno.EINVAL)
    file.position = begin + offset
    return file.position


def is_appended(descriptor):
    """Returns whether a file is appended to. WASI's C library loses the position of such a file."""
    file = _files.get(descriptor)
    return file is not None and file.position is not None


def turn(descriptor, access):
    """Prepares an open file to be read or written: `os.O_RDONLY` or `os.O_WRONLY`.

    WASI's C library reads by one stream and writes by another, and each goes on where it was. It makes new ones at another
    position, so that it is moved away and back where the two alternate.
    """
    file = _files.get(descriptor)
    if file is None or file.access != os.O_RDWR or file.last == access or file.position is not None:
        return
    if file.last is not None:
        here = _system_lseek(descriptor, 0, os.SEEK_CUR)
        _system_lseek(descriptor, here + 1, os.SEEK_SET)
        _system_lseek(descriptor, here, os.SEEK_SET)
    file.last = access


def reading_at(function):
    """Returns a function that reads at a position. WASI's C library crashes at a file that is not open to read, and at a
    folder."""

    def read(descriptor, *arguments):
        file = _files.get(descriptor)
        if file is not None and file.access == os.O_WRONLY:
            raise errors.error(errno.EBADF)
        if bits.S_ISDIR(_system_fstat(descriptor).st_mode):
            raise errors.error(errno.EISDIR)
        return function(descriptor, *arguments)

    read.__name__ = read.__qualname__ = function.__name__
    return read


def writing_at(function):
    """Returns a function that writes at a position. Like Linux, it appends to a file that is appended to."""

    def write(descriptor, data, *arguments):
        file = _files.get(descriptor)
        return function(descriptor, data, *arguments) if file is None or file.position is None else append(descriptor, data)

    append = _system_write if function.__name__ == "pwrite" else _system_writev
    write.__name__ = write.__qualname__ = function.__name__
    return write


def ftruncate(descriptor, length):
    """Sets the length of an open file, as `os.ftruncate`."""
    file = _files.get(descriptor)
    if file is not None and file.access == os.O_RDONLY:
        # Linux has another error here than for writing.
        raise errors.error(errno.EINVAL)
    _system_ftruncate(descriptor, length)


def fstat(descriptor):
    """Returns the attributes of an open file."""
    if 0 <= descriptor <= 2 and descriptor not in _files:
        # The standard streams are not files of the host; CPython knows their type.
        return _system_fstat(descriptor)
    return attributes.stat(names.from_host(name_of(descriptor)))


def dup(descriptor):
    """Duplicates a descriptor, with its path."""
    new = _system_dup(descriptor)
    file = _files.get(descriptor)
    if file is not None:
        _files[new] = _File(file.name, file.access, file.position)
    return new
