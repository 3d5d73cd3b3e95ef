"""Removing trees of directories: what `shutil.rmtree` does where no call is relative to an open directory.

CPython's own function for such systems goes by the letters of the path: of `folder/hidden/..` it leaves what it finds after it has
removed `hidden`, and takes the path that is then missing for a success. Natively, `rmtree` removes what is in the place that it opened.
"""

import os
import posixpath

from modbox_python import changes


def rmtree(path, ignore_errors=False, onerror=None, *, onexc=None, dir_fd=None):
    """Removes a directory and all that is in it, as CPython 3.14 does where calls can be relative to an open directory.

    What can be removed is removed where failures are ignored or go to a function of the caller. Entries that are missing when
    their turn comes are no failures; the directory itself is one.
    """
    changes.refuse_directory(dir_fd)
    path = os.fsdecode(path)
    failed = _handler(ignore_errors, onerror, onexc)
    if not _is_removable(path, failed):
        return
    _remove_entries(path, failed)
    try:
        os.rmdir(path)
    except OSError as raised:
        failed(os.rmdir, path, raised)


def _handler(ignore_errors, onerror, onexc):
    """Returns the function that takes each failure: the call, the path and the exception."""

    def raise_it(_call, _path, raised):
        raise raised

    if ignore_errors:
        return lambda *_failure: None
    if onexc is None and onerror is not None:
        return lambda call, path, raised: onerror(call, path, (type(raised), raised, raised.__traceback__))
    return onexc or raise_it


def _is_removable(path, failed):
    """Tells whether the path is a directory and no link, as CPython does: the path and what it opens are one file."""
    call = os.lstat
    try:
        own = os.lstat(path)
        call = os.open
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            opened = os.fstat(descriptor)
        finally:
            os.close(descriptor)
    except OSError as raised:
        raised.filename = path
        failed(call, path, raised)
        return False
    if not os.path.samestat(own, opened):
        failed(os.path.islink, path, OSError("Cannot call rmtree on a symbolic link"))
        return False
    return True


def _remove_entries(path, failed):
    """Removes what is in a directory, each folder after its entries. Failures tell the path as it was given."""
    place = os.path.realpath(path)
    waiting = [("", False)]
    while waiting:
        inner, is_empty = waiting.pop()
        folder, told = (posixpath.join(beginning, inner) if inner else beginning for beginning in (place, path))
        if is_empty:
            _attempt(os.rmdir, folder, told, failed)
            continue
        if inner:
            waiting.append((inner, True))
        for entry in _attempt(_list, folder, told, failed) or ():
            name = posixpath.join(inner, entry.name)
            if entry.is_dir(follow_symlinks=False):
                waiting.append((name, False))
            else:
                _attempt(os.unlink, entry.path, posixpath.join(path, name), failed)


def _list(folder):
    with os.scandir(folder) as entries:
        return list(entries)


def _attempt(call, place, told, failed):
    """Returns what the call returns; `None` if it fails."""
    try:
        return call(place)
    except FileNotFoundError:
        return None
    except OSError as raised:
        raised.filename = told
        failed(os.scandir if call is _list else call, told, raised)
        return None
