"""`modbox:host/files`, which refuses absolute links like the host."""

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
_lstat, _readlink, _chmod, _chown = os.lstat, os.readlink, os.chmod, os.chown

# The calls that a test made, and the answer for `umask`.
OWNERS, UMASK = [], 0o022


def _resolved(base, rest):
    # Folders on the way to a granted one are there, and nothing else.
    if base == "/" and not any(name.startswith("/%s/" % rest) for name in preopens.GRANTED):
        raise Err(types.ErrorCode.NO_ENTRY)
    at, parts = base, rest.split("/")
    for number, part in enumerate(parts):
        if part == ".." or rest.startswith("/"):
            raise Err(types.ErrorCode.NOT_PERMITTED)
        at = posixpath.join(at, part)
        if number < len(parts) - 1 and os.path.islink(at) and _readlink(at).startswith("/"):
            raise Err(types.ErrorCode.NOT_PERMITTED)
    return at


def _call(function, *arguments):
    try:
        return function(*arguments)
    except OSError as error:
        raise Err(types.ErrorCode[_CODES[error.errno]]) from None


def stat(base, path_flags, path):
    """Returns the attributes of a path, which is not followed."""
    assert not path_flags & types.PathFlags.SYMLINK_FOLLOW, "the callers follow links themselves"
    name = _resolved(base, path)
    found = _call(_lstat, name)
    kind = bits.S_IFMT(found.st_mode)
    return Attributes(_KINDS[kind], bits.S_IMODE(found.st_mode), found.st_uid, found.st_gid, None, None, found.st_nlink,
                      found.st_ino, found.st_dev, found.st_size, found.st_blocks, found.st_blksize, found.st_rdev,
                      os.fsencode(_readlink(name)) if kind == bits.S_IFLNK else None)


def set_mode(base, path_flags, path, mode):
    """Sets the nine bits of the permissions."""
    del path_flags
    _call(_chmod, _resolved(base, path), mode & 0o777)


def set_owner(base, path_flags, path, uid, gid):
    """Remembers the call."""
    del path_flags
    OWNERS.append((_resolved(base, path), uid, gid))


def umask():
    """Returns the umask."""
    return UMASK
