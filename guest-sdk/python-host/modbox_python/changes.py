"""Functions of `os` that make and change files: modes, owners, links, names, times.

The host sets the nine permission bits. A mode with other bits is an error if the file does not have it already.
"""

import errno
import os

from modbox_python import attributes, errors, host, identity, open_files, paths

_mkdir, _symlink, _link, _rename, _utime, _truncate = os.mkdir, os.symlink, os.link, os.rename, os.utime, os.truncate
_unlink, _rmdir, _fsync = os.unlink, os.rmdir, os.fsync

_SPECIAL = 0o7000
NEW_FILE, NEW_DIRECTORY = 0o666, 0o777


def system_call(function, *arguments, **named):
    """Calls one of CPython's functions, and renews its error."""
    try:
        return function(*arguments, **named)
    except OSError as raised:
        raise errors.renew(raised) from None


def on_path(function, path, follow=False):
    """Calls a function with a path, and again with the path that links lead to if WASI refuses an absolute link."""
    try:
        return function(paths.text(path))
    except OSError as raised:
        if raised.errno == errno.EPERM:
            name = paths.absolute(path)
            walked = paths.walk(name, last=follow)
            if walked != name:
                return system_call(function, walked)
        renewed = errors.renew(raised)
        renewed.filename = path
        raise renewed from None


def set_mode(name, mode):
    """Sets the permissions of an absolute path."""
    if mode & _SPECIAL:
        _, found = attributes.look(name, True)
        if found.mode == mode & 0o7777:
            return
        raise errors.error(errno.EPERM, name)
    name, _ = attributes.look(name, True)
    base, rest = paths.place(name)
    try:
        host.files.set_mode(base, attributes.NO_FOLLOW, rest, mode)
    except host.Err as refused:
        raise errors.from_host(refused.value, name) from None


def finish_new(name, mode, usual):
    """Gives a new file or directory its mode, if the host made it with another one."""
    wanted = mode & 0o7777 & ~identity.current_umask()
    if wanted != usual & ~host.files.umask():
        set_mode(name, wanted)


def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
    """Sets the permissions of a path."""
    refuse_directory(dir_fd)
    if isinstance(path, int):
        return fchmod(path, mode)
    name = paths.absolute(path)
    if not follow_symlinks and attributes.look(name, False)[1].target is not None:
        # What CPython on Linux raises; `shutil` goes on without the mode of the link.
        raise NotImplementedError("chmod: follow_symlinks unavailable on this platform")
    set_mode(name, mode)


def fchmod(descriptor, mode):
    """Sets the permissions of an open file."""
    set_mode(open_files.name_of(descriptor), mode)


def chown(path, uid, gid, *, dir_fd=None, follow_symlinks=True):
    """Sets the owner and the group of a path; -1 leaves one as it is."""
    refuse_directory(dir_fd)
    name = open_files.name_of(path) if isinstance(path, int) else paths.absolute(path)
    name, found = attributes.look(name, follow_symlinks, path)
    wanted = [None if number == -1 else number for number in (uid, gid)]
    if all(number in (None, has) for number, has in zip(wanted, (found.uid, found.gid))):
        # Nothing to change: the kernel permits this to every owner, and so needs no grant.
        return
    base, rest = paths.place(name)
    try:
        host.files.set_owner(base, attributes.NO_FOLLOW, rest, *wanted)
    except host.Err as refused:
        raise errors.from_host(refused.value, path) from None


def lchown(path, uid, gid):
    """Sets the owner and the group of a path, and does not follow a link."""
    chown(path, uid, gid, follow_symlinks=False)


def fchown(descriptor, uid, gid):
    """Sets the owner and the group of an open file."""
    chown(descriptor, uid, gid)


def mkdir(path, mode=0o777, *, dir_fd=None):
    """Makes a directory."""
    refuse_directory(dir_fd)
    on_path(_mkdir, path)
    finish_new(paths.absolute(path), mode, NEW_DIRECTORY)


def readlink(path, *, dir_fd=None):
    """Returns the target of a link, as text or bytes like the path."""
    refuse_directory(dir_fd)
    _, found = attributes.look(paths.absolute(path), False, path)
    if found.target is None:
        raise errors.error(errno.EINVAL, path)
    return found.target if isinstance(os.fspath(path), bytes) else os.fsdecode(found.target)


def symlink(src, dst, target_is_directory=False, *, dir_fd=None):
    """Makes a symbolic link."""
    refuse_directory(dir_fd)
    target = paths.text(src)
    try:
        on_path(lambda name: _symlink(target, name), dst)
    except OSError as raised:
        raise errors.error(raised.errno, src, dst) from None


def link(src, dst, *, src_dir_fd=None, dst_dir_fd=None, follow_symlinks=True):
    """Makes a hard link. Like Linux, it does not follow a link at the end of `src`."""
    refuse_directory(src_dir_fd)
    refuse_directory(dst_dir_fd)
    _with_two(_link, src, dst)


def rename(src, dst, *, src_dir_fd=None, dst_dir_fd=None):
    """Renames a file or directory."""
    refuse_directory(src_dir_fd)
    refuse_directory(dst_dir_fd)
    old, new = paths.absolute(src), paths.absolute(dst)
    _with_two(_rename, src, dst)
    open_files.renamed(old, new)


def _with_two(function, src, dst):
    """Calls a function with two paths, like `on_path`."""
    try:
        return function(paths.text(src), paths.text(dst))
    except OSError as raised:
        if raised.errno == errno.EPERM:
            names = [paths.absolute(src), paths.absolute(dst)]
            walked = [paths.walk(name) for name in names]
            if walked != names:
                return system_call(function, *walked)
        raise errors.error(raised.errno, src, dst) from None


def unlink(path, *, dir_fd=None):
    """Removes a file or a link."""
    refuse_directory(dir_fd)
    on_path(_unlink, path)


def rmdir(path, *, dir_fd=None):
    """Removes an empty directory."""
    refuse_directory(dir_fd)
    on_path(_rmdir, path)


def utime(path, times=None, *, ns=None, dir_fd=None, follow_symlinks=True):
    """Sets the times of a path."""
    refuse_directory(dir_fd)
    named = {"ns": ns} if ns is not None else {"times": times}
    if isinstance(path, int):
        return system_call(_utime, path, **named)
    name, _ = attributes.look(paths.absolute(path), follow_symlinks, path)
    on_path(lambda name: _utime(name, follow_symlinks=False, **named), name)


def truncate(path, length):
    """Sets the length of a file."""
    if isinstance(path, int):
        return system_call(os.ftruncate, path, length)
    on_path(lambda name: _truncate(name, length), path, follow=True)


def refuse_directory(descriptor):
    """Fails like CPython on systems without the calls relative to an open directory."""
    if descriptor is not None:
        raise NotImplementedError("dir_fd unavailable on this platform")
