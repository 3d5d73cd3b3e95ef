"""`modbox:host/file-systems`, by this machine's `os.statvfs`."""

import collections
import os

from wit_world.imports import files

FileSystem = collections.namedtuple(
    "FileSystem", "block_size fragment_size blocks blocks_free blocks_available inodes inodes_free inodes_available "
                  "identity mount_flags longest_name")

_statvfs = os.statvfs


def at(base, path_flags, path):
    """Returns the file system of a path."""
    del path_flags
    found = files.call(_statvfs, files.resolved(base, path))
    return FileSystem(found.f_bsize, found.f_frsize, found.f_blocks, found.f_bfree, found.f_bavail, found.f_files,
                      found.f_ffree, found.f_favail, getattr(found, "f_fsid", 0), found.f_flag, found.f_namemax)
