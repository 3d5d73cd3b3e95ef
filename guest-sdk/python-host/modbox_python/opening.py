"""Opening files: `os.open`, and `open`, which opens by it.

WASI ignores the mode of a new file, and refuses absolute links. Both are made up for here, once for all ways to open.
"""

import errno
import io
import itertools
import os

from modbox_python import attributes, changes, host, identity, open_files, paths, pipes, whole_writes
from modbox_python.errors import renew

_system_open, _system_close, _system_unlink, _io_open = os.open, os.close, os.unlink, io.open

_NULLS = itertools.count()

# The modes of `open` that write, without `b` and `t`.
_WRITTEN = ("w", "a", "x", "w+", "a+", "x+", "r+")


def open_descriptor(path, flags, mode=0o777, *, dir_fd=None):
    """Opens a file, as `os.open`."""
    if not host.is_live():
        return _system_open(path, flags, mode)
    changes.refuse_directory(dir_fd)
    if not flags & os.O_ACCMODE:
        # Linux's `O_RDONLY` is 0, and WASI's is not.
        flags |= os.O_RDONLY
    name = paths.absolute(path)
    if name == os.devnull:
        return _open_null()
    # Only a new file gets the mode. Whether it is new matters if the mode is not the usual one.
    creates = flags & os.O_CREAT
    unusual = creates and mode & ~identity.current_umask() != changes.NEW_FILE & ~host.files.umask()
    is_new = unusual and (flags & os.O_EXCL or _is_missing(name))
    # A new file that others may not read is never readable to them: the host makes it, and sets its mode, before
    # anything is written to it.
    descriptor = changes.on_path(lambda name: _system_open(name, flags, mode), path, follow=not flags & os.O_NOFOLLOW)
    open_files.remember(descriptor, name)
    if is_new:
        try:
            changes.finish_new(name, mode, changes.NEW_FILE)
        except BaseException:
            close(descriptor)
            raise
    return descriptor


def _open_null():
    """Opens what stands for `/dev/null`, since the sandbox has no devices: an empty file without a name."""
    name = "/tmp/.null-%d" % next(_NULLS)
    descriptor = _system_open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    _system_unlink(name)
    return descriptor


def _is_missing(name):
    try:
        attributes.look(name, True)
    except OSError as raised:
        return raised.errno == errno.ENOENT
    return False


def close(descriptor):
    """Closes a descriptor, or a pipe to a command."""
    if pipes.close(descriptor):
        return
    open_files.forget(descriptor)
    changes.system_call(_system_close, descriptor)


def _opener(path, flags):
    return open_descriptor(path, flags, changes.NEW_FILE)


def open_file(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
    """Opens a file, as `open`."""
    if opener is None and not isinstance(file, int) and host.is_live():
        opener = _opener
    try:
        if host.is_live() and _is_written(mode, buffering, (encoding, errors, newline)):
            return _open_written(file, mode, buffering, (encoding, errors, newline), closefd, opener)
        return _io_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
    except OSError as raised:
        raise renew(raised) from None


def _is_written(mode, buffering, of_text):
    """Returns whether the arguments of `open` are for a file that is written, and are right."""
    if "b" in mode:
        return mode.replace("b", "", 1) in _WRITTEN and buffering != 1 and of_text == (None, None, None)
    return mode.replace("t", "", 1) in _WRITTEN and buffering != 0


def _open_written(file, mode, buffering, of_text, closefd, opener):
    """Opens a file to write, as CPython's `open`, by `whole_writes.File`."""
    result = raw = whole_writes.File(file, mode.replace("b", "").replace("t", ""), closefd, opener)
    try:
        if buffering != 0:
            kind = io.BufferedRandom if "+" in mode else io.BufferedWriter
            result = kind(raw, buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE)
        if "b" not in mode:
            result = io.TextIOWrapper(result, *of_text, line_buffering=buffering == 1)
            result.mode = mode
    except BaseException:
        result.close()
        raise
    return result


open_file.__name__ = open_file.__qualname__ = "open"
