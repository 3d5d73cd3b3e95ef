"""Functions of `os` that make and change files: modes, owners, links, names, times."""

import contextlib
import errno
import math
import os
import stat as bits

from modbox_python import attributes, errors, host, identity, open_files, paths

_mkdir, _symlink, _link, _rename, _truncate = os.mkdir, os.symlink, os.link, os.rename, os.truncate
_unlink, _rmdir, _fsync = os.unlink, os.rmdir, os.fsync

_SET_ID = 0o6000
NEW_FILE, NEW_DIRECTORY = 0o666, 0o777

_SECOND = 1_000_000_000


def system_call(function, *arguments, **named):
    """Calls one of CPython's functions, and renews its error."""
    try:
        return function(*arguments, **named)
    except OSError as raised:
        raise errors.renew(raised) from None


def on_path(function, path):
    """Calls a function with the host's text of a path. An error names the path as it was given."""
    try:
        return function(paths.absolute(path))
    except OSError as raised:
        renewed = errors.renew(raised)
        renewed.filename = path
        raise renewed from None


def set_mode(name, mode, filename=None):
    """Sets the permissions of an absolute path."""
    if mode & _SET_ID and attributes.look(name, True, filename).mode == mode & 0o7777:
        # A file that has these bits keeps them without a grant.
        return
    base, rest = paths.place(name)
    errors.of_host(host.file_changes.set_mode, base, attributes.flags(True), rest, mode & 0o7777, filename=filename)


@contextlib.contextmanager
def new_mode(mode, usual):
    """Makes new files get no more than a mode. `usual` is the mode that the host gives to them. The value is what they lack
    of the mode, since the host's umask has it and the run's has not, or since the host gives it to no new file."""
    umask = identity.current_umask()
    lacking = mode & 0o1777 & ~umask & ~(usual & ~identity.umask_of_host())
    restricted = usual & ~mode & 0o777
    if restricted:
        identity.restrict_new(restricted)
    try:
        yield lacking
    finally:
        if restricted:
            identity.restrict_new(0)


def finish_new(name, lacking, filename):
    """Gives a new file or directory what it lacks of its mode."""
    set_mode(name, attributes.look(name, True, filename).mode | lacking, filename)


def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
    """Sets the permissions of a path."""
    refuse_directory(dir_fd)
    if isinstance(path, int):
        return fchmod(path, mode)
    name = paths.absolute(path)
    if not follow_symlinks and attributes.look(name, False, path).target is not None:
        # What CPython on Linux raises; `shutil` goes on without the mode of the link.
        raise NotImplementedError("chmod: follow_symlinks unavailable on this platform")
    set_mode(name, mode, path)


def fchmod(descriptor, mode):
    """Sets the permissions of an open file."""
    set_mode(open_files.name_of(descriptor), mode, descriptor)


def chown(path, uid, gid, *, dir_fd=None, follow_symlinks=True):
    """Sets the owner and the group of a path; -1 leaves one as it is."""
    refuse_directory(dir_fd)
    name = open_files.name_of(path) if isinstance(path, int) else paths.absolute(path)
    found = attributes.look(name, follow_symlinks, path)
    wanted = [None if number == -1 else number for number in (uid, gid)]
    if all(number in (None, has) for number, has in zip(wanted, (found.uid, found.gid))):
        # The kernel permits this to every owner, so it needs no grant; and it takes the set-id bits of files away.
        lost = found.mode & (_SET_ID if found.mode & 0o010 else 0o4000)
        if lost and attributes.kind(found) == bits.S_IFREG:
            set_mode(name, found.mode & ~lost, path)
        return
    base, rest = paths.place(name)
    errors.of_host(host.files.set_owner, base, attributes.flags(follow_symlinks), rest, *wanted, filename=path)


def lchown(path, uid, gid):
    """Sets the owner and the group of a path, and does not follow a link."""
    chown(path, uid, gid, follow_symlinks=False)


def fchown(descriptor, uid, gid):
    """Sets the owner and the group of an open file."""
    chown(descriptor, uid, gid)


def mkdir(path, mode=0o777, *, dir_fd=None):
    """Makes a directory. Like Linux, it takes no set-id bits of a mode; a directory has those of the one around it."""
    refuse_directory(dir_fd)
    name = paths.absolute(path)
    with new_mode(mode, NEW_DIRECTORY) as lacking:
        on_path(_mkdir, path)
    if lacking:
        finish_new(name, lacking, path)


def readlink(path, *, dir_fd=None):
    """Returns the target of a link, as text or bytes like the path."""
    refuse_directory(dir_fd)
    found = attributes.look(paths.absolute(path), False, path)
    if found.target is None:
        raise errors.error(errno.EINVAL, path)
    return found.target if isinstance(os.fspath(path), bytes) else os.fsdecode(found.target)


def symlink(src, dst, target_is_directory=False, *, dir_fd=None):
    """Makes a symbolic link."""
    refuse_directory(dir_fd)
    _with_two(_symlink, (src, dst), (paths.text, paths.absolute))


def link(src, dst, *, src_dir_fd=None, dst_dir_fd=None, follow_symlinks=True):
    """Makes a hard link. Like Linux, it does not follow a link at the end of `src`."""
    refuse_directory(src_dir_fd)
    refuse_directory(dst_dir_fd)
    _with_two(_link, (src, dst))


def rename(src, dst, *, src_dir_fd=None, dst_dir_fd=None):
    """Renames a file or directory."""
    refuse_directory(src_dir_fd)
    refuse_directory(dst_dir_fd)
    _with_two(_rename, (src, dst))
    open_files.renamed(paths.absolute(src), paths.absolute(dst))


def _with_two(function, given, forms=(paths.absolute, paths.absolute)):
    """Calls a function with two paths, like `on_path`."""
    try:
        return function(*(form(path) for form, path in zip(forms, given)))
    except OSError as raised:
        raise errors.error(raised.errno, *given) from None


def unlink(path, *, dir_fd=None):
    """Removes a file or a link."""
    refuse_directory(dir_fd)
    on_path(_unlink, path)


def rmdir(path, *, dir_fd=None):
    """Removes an empty directory."""
    refuse_directory(dir_fd)
    on_path(_rmdir, path)


def utime(path, times=None, *, ns=None, dir_fd=None, follow_symlinks=True):
    """Sets the times of a path or an open file."""
    refuse_directory(dir_fd)
    if times is not None and ns is not None:
        raise ValueError("utime: you may specify either 'times' or 'ns' but not both")
    given = times if ns is None else ns
    if given is None:
        new = [host.file_changes.NewTime_Now()] * 2
    elif not isinstance(given, tuple) or len(given) != 2:
        raise TypeError("utime: %r must be a tuple of two ints" % ("times" if ns is None else "ns"))
    else:
        parts = [_split(time) if ns is None else divmod(time, _SECOND) for time in given]
        new = [host.file_changes.NewTime_At(host.file_changes.Time(*part)) for part in parts]
    try:
        name = open_files.name_of(path) if isinstance(path, int) else paths.absolute(path)
        base, rest = paths.place(name)
        errors.of_host(host.file_changes.set_times, base, attributes.flags(follow_symlinks), rest, *new)
    except OSError as raised:
        # Like CPython, it names no path.
        raise errors.error(raised.errno) from None


def _split(time):
    """Returns the seconds and nanoseconds of a time, rounded down like CPython's."""
    if isinstance(time, int):
        return time, 0
    rest, whole = math.modf(time)
    nanoseconds = math.floor(rest * 1e9)
    return int(whole) + nanoseconds // _SECOND, nanoseconds % _SECOND


def truncate(path, length):
    """Sets the length of a file."""
    if isinstance(path, int):
        return open_files.ftruncate(path, length)
    on_path(lambda name: _truncate(name, length), path)


def refuse_directory(descriptor):
    """Fails like CPython on systems without the calls relative to an open directory."""
    if descriptor is not None:
        raise NotImplementedError("dir_fd unavailable on this platform")
