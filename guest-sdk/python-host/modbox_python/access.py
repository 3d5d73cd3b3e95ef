"""`os.access`: the host asks the kernel, and its grants."""

import os

from modbox_python import attributes, host, paths

_PERMISSIONS = host.file_changes.Permissions
_NONE = _PERMISSIONS.READ & ~_PERMISSIONS.READ
_BITS = ((os.R_OK, _PERMISSIONS.READ), (os.W_OK, _PERMISSIONS.WRITE), (os.X_OK, _PERMISSIONS.EXECUTE))


def access(path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True):
    """Returns whether this run's user may read, write or execute a path."""
    del effective_ids
    if dir_fd is not None:
        raise NotImplementedError("dir_fd unavailable on this platform")
    wanted = _NONE
    for bit, permission in _BITS:
        if mode & bit:
            wanted |= permission
    try:
        name = paths.absolute(path)
        if not follow_symlinks and attributes.look(name, False, path).target is not None:
            # Every user has all permissions of a link.
            return True
        host.file_changes.access(*paths.place(name), wanted)
    except (OSError, host.Err):
        return False
    return True
