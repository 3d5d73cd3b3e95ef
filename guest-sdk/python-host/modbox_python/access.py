"""`os.access`, computed from modes and owners as the kernel does.

A grant for reading only is not seen here: the call answers for the file, and a later write then fails.
"""

import os

from modbox_python import attributes, identity, paths


def access(path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True):
    """Returns whether this run's user may read, write or execute a path."""
    del effective_ids
    if dir_fd is not None:
        raise NotImplementedError("dir_fd unavailable on this platform")
    try:
        _, found = attributes.look(paths.absolute(path), follow_symlinks, path)
    except OSError:
        return False
    if identity.getuid() == 0:
        is_folder = found.kind.name == "DIRECTORY"
        return not mode & os.X_OK or is_folder or bool(found.mode & 0o111)
    if identity.getuid() == found.uid:
        allowed = found.mode >> 6
    elif found.gid in (identity.getgid(), *identity.getgroups()):
        allowed = found.mode >> 3
    else:
        allowed = found.mode
    return mode & ~allowed & 7 == 0
