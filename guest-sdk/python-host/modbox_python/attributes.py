"""Attributes of files: what `os.stat` returns.

WASI has no modes and no owners; CPython shows 0 for them. The host's `files.stat` has them, WASI has the times, and
`StatResult` joins both. A file whose attributes the host does not tell raises an error.
"""

import errno
import os
import posixpath
import stat as bits

from modbox_python import errors, host, paths

_FOLLOWS = host.types.PathFlags.SYMLINK_FOLLOW
NO_FOLLOW = _FOLLOWS & ~_FOLLOWS
FOLLOW = _FOLLOWS

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


def look_once(name, filename=None):
    """Returns the host's attributes of an absolute path; of a link, its own."""
    base, rest = paths.place(name)
    if paths.is_hidden(name, base):
        raise errors.error(errno.ENOENT, filename or name)
    try:
        return host.files.stat(base, NO_FOLLOW, rest)
    except host.Err as refused:
        raise errors.from_host(refused.value, filename or name) from None


def look(name, follow, filename=None):
    """Returns the path at which the links of an absolute path end, and the host's attributes of that file."""
    directory = name.endswith("/") and name != "/"
    if paths.climbs(name):
        name = paths.walk(name)
    name = name.rstrip("/") or "/"
    for _ in range(paths.MAX_LINKS):
        try:
            found = look_once(name, filename)
        except PermissionError:
            # An absolute link on the way.
            walked = paths.walk(name)
            if walked == name:
                raise
            name, found = walked, look_once(walked, filename)
        if found.target is None or not (follow or directory):
            if directory and found.kind is not host.types.DescriptorType.DIRECTORY:
                raise errors.error(errno.ENOTDIR, filename or name)
            return name, found
        name = paths.absolute(posixpath.join(posixpath.dirname(name), os.fsdecode(found.target)))
        if paths.climbs(name):
            name = paths.walk(name)
    raise errors.error(errno.ELOOP, filename or name)


def result(found, times):
    """Joins the host's attributes with the times that WASI tells."""
    kind = _KINDS.get(found.kind)
    if kind is None:
        raise errors.error(errno.EIO)
    values = (kind | found.mode, found.inode, found.device, found.links, found.uid, found.gid, found.size,
              int(times.st_atime), int(times.st_mtime), int(times.st_ctime))
    return StatResult(values, {
        "st_atime": times.st_atime, "st_mtime": times.st_mtime, "st_ctime": times.st_ctime,
        "st_atime_ns": times.st_atime_ns, "st_mtime_ns": times.st_mtime_ns, "st_ctime_ns": times.st_ctime_ns,
        "st_blksize": found.block_size, "st_blocks": found.blocks, "st_rdev": found.device_type,
    })


def stat(path, follow=True):
    """Returns the attributes of a path."""
    name, found = look(paths.absolute(path), follow, path)
    try:
        times = _system_stat(name, follow_symlinks=False)
    except OSError as raised:
        raise errors.error(raised.errno, path) from None
    return result(found, times)
