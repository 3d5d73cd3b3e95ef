"""Remembers the paths of open files, so that `os.fstat` and `os.fchmod` have modes and owners.

The host has attributes by path only. Before a remembered path is used, the file at the path is compared with the open
file. If it is another one, or if the path is unknown, the call fails; attributes are never made up.
"""

import errno
import os

from modbox_python import attributes, errors

_system_fstat, _system_stat, _system_dup = errors.renewing(os.fstat), os.stat, errors.renewing(os.dup)
_names = {}


def remember(descriptor, name):
    """Remembers the absolute path of an open file."""
    _names[descriptor] = name


def forget(descriptor):
    """Forgets a file that is closed."""
    _names.pop(descriptor, None)


def renamed(old, new):
    """Follows a file or directory to its new absolute path."""
    for descriptor, name in list(_names.items()):
        if name == old or name.startswith(old + "/"):
            _names[descriptor] = new + name[len(old):]


def name_of(descriptor):
    """Returns the absolute path of an open file."""
    opened = _system_fstat(descriptor)
    name = _names.get(descriptor)
    if name is None:
        raise errors.error(errno.ENOTSUP)
    name, _ = attributes.look(name, True)
    there = _system_stat(name, follow_symlinks=False)
    if (there.st_ino, there.st_dev) != (opened.st_ino, opened.st_dev):
        raise errors.error(errno.ESTALE)
    return name


def fstat(descriptor):
    """Returns the attributes of an open file."""
    if 0 <= descriptor <= 2 and descriptor not in _names:
        # The standard streams are not files of the host; CPython knows their type.
        return _system_fstat(descriptor)
    return attributes.stat(name_of(descriptor))


def dup(descriptor):
    """Duplicates a descriptor, with its path."""
    new = _system_dup(descriptor)
    if descriptor in _names:
        _names[new] = _names[descriptor]
    return new
