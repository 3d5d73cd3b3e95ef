"""Puts the replacements into `os`, `io`, `socket` and `sys`, before anything imports them.

Each replacement calls CPython's function until the run begins. A function that Linux has and the sandbox has not raises
`Unsupported`, so that a module fails with the name of what it needs.
"""

import builtins
import errno
import io
import os
import random
import socket
import sys

from modbox_python import (
    access, attributes, changes, errors, file_systems, host, identity, listing, moving, names, open_files, opening, paths,
    pipes, removal, sockets, tls_authorities, unsupported)

_PATHS = {
    "fstat": open_files.fstat, "dup": open_files.dup, "lseek": open_files.lseek,
    "ftruncate": open_files.ftruncate,
    "close": opening.close, "access": access.access, "utime": changes.utime, "mkdir": changes.mkdir,
    "getcwd": paths.getcwd, "getcwdb": paths.getcwdb,
    "readlink": changes.readlink, "symlink": changes.symlink, "link": changes.link, "rename": moving.rename,
    "replace": moving.rename, "unlink": changes.unlink, "remove": changes.unlink, "rmdir": changes.rmdir,
    "truncate": changes.truncate, "uname": identity.uname,
}


_NEW = {
    "chmod": moving.chmod, "fchmod": changes.fchmod, "chown": moving.chown, "lchown": changes.lchown,
    "fchown": changes.fchown, "umask": identity.umask, "getuid": identity.getuid, "getgid": identity.getgid,
    "geteuid": identity.geteuid, "getegid": identity.getegid, "getgroups": identity.getgroups,
    "getppid": identity.getppid, "statvfs": file_systems.statvfs, "fstatvfs": file_systems.statvfs,
    "statvfs_result": file_systems.StatVfsResult, "ST_RDONLY": 1, "ST_NOSUID": 2,
}

# Functions of Linux's `os` that modules of Ansible name. `hasattr` finds them, and calling one is an error. `os.fork`
# is not one of them: the standard library asks `hasattr` whether it must prepare for it.
_ABSENT = (
    "chroot", "getloadavg", "getlogin", "getpgid", "getpgrp", "getpriority", "getresgid",
    "getresuid", "getsid", "initgroups", "kill", "killpg", "mkfifo", "mknod", "nice", "openpty", "pipe", "pipe2",
    "setegid", "seteuid", "setgid", "setgroups", "setpgid", "setpriority", "setregid", "setresgid", "setresuid",
    "setreuid", "setsid", "setuid", "sync", "ttyname", "wait", "wait3", "wait4", "waitpid",
)

# Functions on open files that fail with Linux's numbers.
_RENEWED = ("fdatasync", "fsync", "pread", "preadv", "pwrite", "pwritev")

_WAIT = {
    "WNOHANG": 1, "WUNTRACED": 2,
    "WIFEXITED": lambda status: status & 0x7F == 0,
    "WEXITSTATUS": lambda status: status >> 8 & 0xFF, "WIFSIGNALED": lambda status: 0 < status & 0x7F < 0x7F,
    "WTERMSIG": lambda status: status & 0x7F, "WIFSTOPPED": lambda status: status & 0xFF == 0x7F,
    "WSTOPSIG": lambda status: status >> 8 & 0xFF,
    "waitstatus_to_exitcode": lambda status: -(status & 0x7F) if status & 0x7F else status >> 8 & 0xFF,
}


def _stat(path, *, dir_fd=None, follow_symlinks=True):
    changes.refuse_directory(dir_fd)
    return open_files.fstat(path) if isinstance(path, int) else attributes.stat(path, follow_symlinks)


def _lstat(path, *, dir_fd=None):
    changes.refuse_directory(dir_fd)
    return attributes.stat(path, follow=False)


def _chdir(path):
    if isinstance(path, int):
        path = names.from_host(open_files.name_of(path))
    changes.on_path(_system_chdir, path)
    # Linux's working directory is a place, and that of WASI's C library a path.
    changes.on_path(_system_chdir, os.path.realpath(path))


def _get_terminal_size(descriptor=1):
    del descriptor
    raise errors.error(errno.ENOTTY)


def _getaddrinfo(host, port, *arguments, **named):
    # A port may be a subclass of `int`: Ansible's arguments are.
    return _system_getaddrinfo(host, int(port) if isinstance(port, int) else port, *arguments, **named)


_system_chdir, _system_getaddrinfo = os.chdir, errors.renewing(socket.getaddrinfo, sockets.lookup_error)


def switch(original, replacement, name):
    """Returns a function that calls the original until the run begins, and then the replacement."""

    def call(*arguments, **named):
        return (replacement if host.is_live() else original)(*arguments, **named)

    call.__name__ = call.__qualname__ = name
    return call


def install():
    """Replaces the functions."""
    for name, replacement in {**_PATHS, "stat": _stat, "lstat": _lstat, "chdir": _chdir}.items():
        setattr(os, name, switch(getattr(os, name), replacement, name))
    for name, function in {**_NEW, **_WAIT}.items():
        setattr(os, name, function)
    for name in filter(lambda name: hasattr(os, name), _RENEWED):
        setattr(os, name, errors.renewing(getattr(os, name)))
    for name in filter(lambda name: hasattr(os, name), ("pread", "preadv")):
        setattr(os, name, open_files.reading_at(getattr(os, name)))
    for name in filter(lambda name: hasattr(os, name), ("pwrite", "pwritev")):
        setattr(os, name, open_files.writing_at(getattr(os, name)))
    for name in _ABSENT:
        if not hasattr(os, name):
            setattr(os, name, unsupported.refuse("os." + name))
    os.strerror, os.get_terminal_size = errors.strerror, _get_terminal_size
    os.open, os.scandir, os.listdir, os.DirEntry = (
        opening.open_descriptor, listing.scandir, listing.listdir, listing.Entry)
    builtins.open = io.open = opening.open_file
    pipes.install()
    sockets.install()
    # No call takes an open directory.
    os.supports_dir_fd.clear()
    os.supports_fd.clear()
    os.supports_follow_symlinks.clear()
    os.supports_follow_symlinks.update((os.stat, os.chown, os.utime, os.access, os.chmod))
    # It asks `os` for what it has when it is imported.
    import shutil
    shutil.rmtree = switch(shutil.rmtree, removal.rmtree, "rmtree")
    shutil.rmtree.avoids_symlink_attacks = False
    # While the interpreter is built there is nothing to look names up; Ansible's files only test whether they can.
    socket.getaddrinfo = switch(lambda *_arguments, **_named: [], _getaddrinfo, "getaddrinfo")
    socket.gethostname = switch(socket.gethostname, identity.gethostname, "gethostname")
    # Modules ask for the machine's system, and the commands that they start run on Linux.
    sys.platform = "linux"


def _register_at_fork(*, before=None, after_in_child=None, after_in_parent=None):
    """Takes functions to call when the process forks, which it never does."""


def install_for_modules():
    """Adds what modules of Ansible want while they are imported, and the standard library must not find.

    Locks of ansible-core 2.22 register what they do at a fork (`ForkSafeLock`). Modules of the standard library do so where
    they can, with methods of locks that WASI's do not have. So they have to be imported by now.
    """
    os.register_at_fork = _register_at_fork


def renew(facts):
    """Takes the values of this run."""
    host.go_live()
    paths.renew()
    identity.renew(facts)
    tls_authorities.renew(facts)
    # The number is used to make names unique. WASI has the same one in every run.
    number = facts.get("pid") or random.SystemRandom().randrange(2, 1 << 22)
    os.getpid = lambda: number
    if "processors" in facts:
        processors = facts["processors"]
        os.cpu_count = os.process_cpu_count = lambda: processors
