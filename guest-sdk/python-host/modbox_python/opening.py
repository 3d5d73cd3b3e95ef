"""Opening files: `os.open`, and `open`, which opens by it.

WASI ignores the mode of a new file. That is made up for here, once for all ways to open.
"""

import errno
import io
import itertools
import os

from modbox_python import attributes, changes, errors, host, open_files, paths, pipes, whole_writes

_system_open, _system_close, _system_unlink, _io_open = os.open, os.close, os.unlink, io.open

# `open` has a parameter of the module's name.
_renew = errors.renew

_SET_ID = 0o6000

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
    if not flags & os.O_CREAT:
        descriptor = changes.on_path(lambda name: _system_open(name, flags), path)
    else:
        descriptor = _create(path, name, flags, mode)
    open_files.remember(descriptor, name, flags)
    return descriptor


def _create(path, name, flags, mode):
    """Opens a file, which gets the mode if it is new."""
    with changes.new_mode(mode, changes.NEW_FILE) as lacking:
        # Whether it is new matters if the host gives less than the mode.
        is_new = (lacking or mode & _SET_ID) and (flags & os.O_EXCL or _is_missing(name))
        if is_new and mode & _SET_ID:
            raise errors.error(errno.EPERM, path)
        descriptor = changes.on_path(lambda name: _system_open(name, flags, changes.NEW_FILE), path)
    if is_new:
        try:
            changes.finish_new(name, lacking, path)
        except BaseException:
            changes.system_call(_system_close, descriptor)
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
        raise _renew(raised) from None


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
