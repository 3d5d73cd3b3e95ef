"""`modbox:host/files`, on the files of this machine."""

import collections
import os
import posixpath
import stat as bits

from wit_world import Err
from wit_world.imports import preopens, types

Attributes = collections.namedtuple(
    "Attributes", "kind mode uid gid user group links inode device size blocks block_size device_type target")
_KINDS = {bits.S_IFREG: types.DescriptorType.REGULAR_FILE, bits.S_IFDIR: types.DescriptorType.DIRECTORY,
          bits.S_IFLNK: types.DescriptorType.SYMBOLIC_LINK, bits.S_IFCHR: types.DescriptorType.CHARACTER_DEVICE,
          bits.S_IFIFO: types.DescriptorType.FIFO}
_CODES = {2: "NO_ENTRY", 20: "NOT_DIRECTORY", 13: "ACCESS", 1: "NOT_PERMITTED", 40: "LOOP", 36: "NAME_TOO_LONG"}

# This module is imported before any test replaces these.
_stat, _readlink = os.stat, os.readlink

# The calls that a test made, and the answer for `umask`.
OWNERS, UMASK = [], 0o022


def resolved(base, rest):
    """Returns the path on this machine. What is not granted is refused, except for folders on the way to it."""
    assert not rest.startswith("/"), rest
    if base == "/" and not any(name.startswith("/%s/" % rest) for name in preopens.GRANTED):
        raise Err(types.ErrorCode.ACCESS)
    return posixpath.join(base, rest)


def call(function, *arguments, **named):
    """Calls a function of `os`, and raises its error as the host's."""
    try:
        return function(*arguments, **named)
    except OSError as error:
        raise Err(types.ErrorCode[_CODES[error.errno]]) from None


def stat(base, path_flags, path):
    """Returns the attributes of a path."""
    name = resolved(base, path)
    follows = bool(path_flags & types.PathFlags.SYMLINK_FOLLOW)
    found = call(_stat, name, follow_symlinks=follows)
    kind = bits.S_IFMT(found.st_mode)
    return Attributes(_KINDS[kind], bits.S_IMODE(found.st_mode), found.st_uid, found.st_gid, None, None, found.st_nlink,
                      found.st_ino, found.st_dev, found.st_size, found.st_blocks, found.st_blksize, found.st_rdev,
                      os.fsencode(_readlink(name)) if kind == bits.S_IFLNK else None)


def set_owner(base, path_flags, path, uid, gid):
    """Remembers the call."""
    del path_flags
    OWNERS.append((resolved(base, path), uid, gid))


def umask():
    """Returns the umask."""
    return UMASK
