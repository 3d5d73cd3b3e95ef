"""`fcntl` for the sandbox: the flags of descriptors. There are no locks, so locking is an error."""

import errno
import os

from modbox_python import errors, pipes
from modbox_python.unsupported import Unsupported

F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW = 0, 1, 2, 3, 4, 5, 6, 7
F_RDLCK, F_WRLCK, F_UNLCK = 0, 1, 2
FD_CLOEXEC = 1
LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8


def _number(file):
    return file if isinstance(file, int) else file.fileno()


def fcntl(fd, cmd, arg=0):
    """Reads or sets the flags of a descriptor. No program is executed, so every descriptor closes by then."""
    number = _number(fd)
    if cmd == F_GETFD:
        return FD_CLOEXEC
    if cmd == F_SETFD:
        return 0
    if cmd == F_GETFL:
        return 0 if pipes.is_pipe(number) or os.get_blocking(number) else os.O_NONBLOCK
    if cmd == F_SETFL:
        os.set_blocking(number, not arg & os.O_NONBLOCK)
        return 0
    raise Unsupported("fcntl.fcntl(..., %r)" % (cmd,))


def ioctl(fd, request, arg=0, mutate_flag=True):
    """Fails: no open file is a device."""
    del fd, request, arg, mutate_flag
    raise errors.error(errno.ENOTTY)


def flock(fd, operation):
    """Fails, unless it unlocks: a lock that other processes do not see would be none."""
    del fd
    if operation != LOCK_UN:
        raise errors.error(errno.ENOLCK)


def lockf(fd, cmd, len=0, start=0, whence=0):
    """Fails like `flock`."""
    del len, start, whence
    flock(fd, cmd)
