"""`modbox:host/file-changes`, on the files of this machine."""

import collections
import enum
import os

from wit_world import Err
from wit_world.imports import files, types

Time = collections.namedtuple("Time", "seconds nanoseconds")
FileTimes = collections.namedtuple("FileTimes", "access modification change")
NewTime_Keep, NewTime_Now = (collections.namedtuple(name, "") for name in ("NewTime_Keep", "NewTime_Now"))
NewTime_At = collections.namedtuple("NewTime_At", "value")
Permissions = enum.Flag("Permissions", "READ WRITE EXECUTE")
Lost = enum.Flag("Lost", "OWNER SET_ID ATTRIBUTES")

_SECOND = 1_000_000_000

# This module is imported before any test replaces these.
_stat, _chmod, _utime, _access, _replace, _umask = os.stat, os.chmod, os.utime, os.access, os.replace, os.umask

# What `replace` loses in a test, and the calls of it.
LOST, REPLACED = [], []

_restricted = 0


def _follows(path_flags):
    return bool(path_flags & types.PathFlags.SYMLINK_FOLLOW)


def times(base, path_flags, path):
    """Returns the times of a path."""
    found = files.call(_stat, files.resolved(base, path), follow_symlinks=_follows(path_flags))
    return FileTimes(*(Time(*divmod(at, _SECOND)) for at in (found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns)))


def set_times(base, path_flags, path, access, modification):
    """Sets the times of a path."""
    given = [access, modification]
    named = {}
    if given != [NewTime_Now()] * 2:
        named["ns"] = tuple(new.value.seconds * _SECOND + new.value.nanoseconds for new in given)
    files.call(_utime, files.resolved(base, path), follow_symlinks=_follows(path_flags), **named)


def access(base, path, permissions):
    """Returns whether a path may be used so."""
    bits = {Permissions.READ: os.R_OK, Permissions.WRITE: os.W_OK, Permissions.EXECUTE: os.X_OK}
    if not _access(files.resolved(base, path), sum(bit for permission, bit in bits.items() if permission & permissions)):
        raise Err(types.ErrorCode.ACCESS)


def restrict_new(mode):
    """Sets permissions that new files do not get."""
    global _restricted
    before, _restricted = _restricted, mode
    _umask(mode | files.UMASK)
    return before


def set_mode(base, path_flags, path, mode):
    """Sets permissions; no grant allows set-id bits of a file."""
    assert _follows(path_flags)
    name = files.resolved(base, path)
    if mode & (0o4000 if os.path.isdir(name) else 0o6000):
        raise Err(types.ErrorCode.NOT_PERMITTED)
    files.call(_chmod, name, mode)


def replace(base, path, new_base, new_path):
    """Replaces a file."""
    names = files.resolved(base, path), files.resolved(new_base, new_path)
    REPLACED.append(names)
    files.call(_replace, *names)
    lost = Lost(0)
    for one in LOST:
        lost |= one
    return lost
