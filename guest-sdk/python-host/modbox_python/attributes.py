"""Attributes of files: what `os.stat` returns.

WASI has no modes and no owners; CPython shows 0 for them. It has no times before 1970, either. The host's `files.stat`
and `file_changes.times` have them, and `StatResult` joins both. A file whose attributes the host does not tell raises an
error.
"""

import errno
import os
import stat as bits

from modbox_python import errors, host, paths

_FOLLOWS = host.types.PathFlags.SYMLINK_FOLLOW
_NO_FOLLOW = _FOLLOWS & ~_FOLLOWS

_KINDS = {
    host.types.DescriptorType.BLOCK_DEVICE: bits.S_IFBLK,
    host.types.DescriptorType.CHARACTER_DEVICE: bits.S_IFCHR,
    host.types.DescriptorType.DIRECTORY: bits.S_IFDIR,
    host.types.DescriptorType.FIFO: bits.S_IFIFO,
    host.types.DescriptorType.SYMBOLIC_LINK: bits.S_IFLNK,
    host.types.DescriptorType.REGULAR_FILE: bits.S_IFREG,
    host.types.DescriptorType.SOCKET: bits.S_IFSOCK,
}

_system_stat = os.stat
_SECOND = 1_000_000_000
_VISIBLE = (
    "st_mode", "st_ino", "st_dev", "st_nlink", "st_uid", "st_gid", "st_size", "st_atime", "st_mtime", "st_ctime")


class StatResult(tuple):
    """The attributes of a file, as Linux's `os.stat_result` has them."""

    n_sequence_fields = len(_VISIBLE)

    def __new__(cls, values, named):
        made = super().__new__(cls, values)
        made.__dict__.update(zip(_VISIBLE, values))
        made.__dict__.update(named)
        return made

    def __repr__(self):
        return "os.stat_result(%s)" % ", ".join("%s=%r" % (name, self[at]) for at, name in enumerate(_VISIBLE))


StatResult.__name__ = StatResult.__qualname__ = "stat_result"
StatResult.__module__ = "os"


def look(name, follow, filename=None):
    """Returns the host's attributes of an absolute path; of a link, its own, unless it is followed."""
    base, rest = paths.place(name)
    if paths.is_hidden(name, base):
        raise errors.error(errno.ENOENT, filename)
    return errors.of_host(host.files.stat, base, flags(follow), rest, filename=filename)


def flags(follow):
    """Returns the flags of a path whose links at the end are followed, or not."""
    return _FOLLOWS if follow else _NO_FOLLOW


def times(name, follow, filename=None):
    """Returns the times of an absolute path: of access, modification and change, in nanoseconds since 1970."""
    try:
        found = host.file_changes.times(*_with_flags(name, follow))
    except host.Err as refused:
        if refused.value.name != "UNSUPPORTED":
            raise errors.from_host(refused.value, filename) from None
        # A folder that exists only for this run, on the way to a granted one.
        seen = _system_stat(name, follow_symlinks=follow)
        return seen.st_atime_ns, seen.st_mtime_ns, seen.st_ctime_ns
    return tuple(at.seconds * _SECOND + at.nanoseconds for at in (found.access, found.modification, found.change))


def _with_flags(name, follow):
    base, rest = paths.place(name)
    return base, flags(follow), rest


def kind(found):
    """Returns the type of a file among the bits of `st_mode`."""
    bits_of_kind = _KINDS.get(found.kind)
    if bits_of_kind is None:
        raise errors.error(errno.EIO)
    return bits_of_kind


def result(found, at):
    """Joins the host's attributes with the times."""
    seconds = [divmod(time, _SECOND) for time in at]
    values = (kind(found) | found.mode, found.inode, found.device, found.links, found.uid, found.gid, found.size,
              *(whole for whole, _ in seconds))
    named = {"st_blksize": found.block_size, "st_blocks": found.blocks, "st_rdev": found.device_type}
    for name, time, (whole, rest) in zip(("st_atime", "st_mtime", "st_ctime"), at, seconds):
        # As CPython computes it.
        named[name], named[name + "_ns"] = whole + 1e-9 * rest, time
    return StatResult(values, named)


def stat(path, follow=True):
    """Returns the attributes of a path."""
    name = paths.absolute(path)
    return result(look(name, follow, path), times(name, follow, path))
