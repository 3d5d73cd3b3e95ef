"""Listing directories: `os.scandir` and `os.listdir`.

CPython's `DirEntry` would show mode 0, so entries are replaced by `Entry`, which asks `attributes`.
"""

import os
import posixpath
import stat as bits

from modbox_python import attributes, changes, host, names

_system_scandir, _system_listdir = os.scandir, os.listdir


class Entry:
    """An entry of a directory, like `os.DirEntry`."""

    __slots__ = ("name", "path", "_system", "_own", "_followed")

    def __init__(self, system, path):
        self.name, self.path, self._system = posixpath.basename(path), path, system
        self._own = self._followed = None

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return "<DirEntry %r>" % (self.name,)

    def is_symlink(self):
        """Returns whether the entry is a symbolic link."""
        return self._system.is_symlink()

    def is_junction(self):
        """Returns that the entry is not a junction of Windows."""
        return False

    def is_dir(self, *, follow_symlinks=True):
        """Returns whether the entry is a directory, or leads to one."""
        return self._is(bits.S_ISDIR, self._system.is_dir, follow_symlinks)

    def is_file(self, *, follow_symlinks=True):
        """Returns whether the entry is a regular file, or leads to one."""
        return self._is(bits.S_ISREG, self._system.is_file, follow_symlinks)

    def _is(self, test, by_type, follow_symlinks):
        if not self.is_symlink():
            return by_type(follow_symlinks=False)
        if not follow_symlinks:
            return False
        try:
            return test(self.stat().st_mode)
        except FileNotFoundError:
            return False

    def stat(self, *, follow_symlinks=True):
        """Returns the attributes of the entry, or of the file that it leads to."""
        if follow_symlinks and self.is_symlink():
            if self._followed is None:
                self._followed = attributes.stat(self.path)
            return self._followed
        if self._own is None:
            self._own = attributes.stat(self.path, follow=False)
        return self._own

    def inode(self):
        """Returns the inode number of the entry."""
        return self.stat(follow_symlinks=False).st_ino


class Entries:
    """The iterator that `os.scandir` returns."""

    def __init__(self, path):
        self._in_bytes = isinstance(path, bytes)
        self._folder = os.fspath(path)
        self._system = changes.on_path(_system_scandir, path)

    def __iter__(self):
        return self

    def __next__(self):
        entry = next(self._system)
        name = names.from_host(entry.name)
        return Entry(entry, posixpath.join(self._folder, os.fsencode(name) if self._in_bytes else name))

    def __enter__(self):
        return self

    def __exit__(self, *_raised):
        self.close()

    def close(self):
        """Ends the listing."""
        self._system.close()


def scandir(path="."):
    """Returns an iterator over the entries of a directory."""
    if not host.is_live() or isinstance(path, int):
        return _system_scandir(path)
    return Entries(os.fspath(path))


def listdir(path="."):
    """Returns the names in a directory."""
    if not host.is_live() or isinstance(path, int):
        return _system_listdir(path)
    found = [names.from_host(name) for name in changes.on_path(_system_listdir, path)]
    return [os.fsencode(name) for name in found] if isinstance(os.fspath(path), bytes) else found
