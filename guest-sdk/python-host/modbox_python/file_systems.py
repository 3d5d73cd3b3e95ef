"""How much space there is: `os.statvfs` and `os.fstatvfs`, which WASI lacks."""

from typing import NamedTuple

from modbox_python import attributes, errors, host, open_files, paths


class _Fields(NamedTuple):
    f_bsize: int
    f_frsize: int
    f_blocks: int
    f_bfree: int
    f_bavail: int
    f_files: int
    f_ffree: int
    f_favail: int
    f_flag: int
    f_namemax: int


class StatVfsResult(_Fields):
    """A file system, as Linux's `os.statvfs_result` has it. Its number, `f_fsid`, is an attribute and no item."""


StatVfsResult.__name__ = StatVfsResult.__qualname__ = "statvfs_result"
StatVfsResult.__module__ = "os"


def statvfs(path):
    """Returns the file system of a path, or of an open file."""
    name = open_files.name_of(path) if isinstance(path, int) else paths.absolute(path)
    base, rest = paths.place(name)
    found = errors.of_host(host.file_systems.at, base, attributes.flags(True), rest, filename=path)
    result = StatVfsResult(
        f_bsize=found.block_size, f_frsize=found.fragment_size, f_blocks=found.blocks, f_bfree=found.blocks_free,
        f_bavail=found.blocks_available, f_files=found.inodes, f_ffree=found.inodes_free,
        f_favail=found.inodes_available, f_flag=found.mount_flags, f_namemax=found.longest_name)
    result.f_fsid = found.identity
    return result
