"""Converts the host's error codes to `OSError`.

CPython raises errors with WASI's numbers, and its `errno` has the same ones: 44 is `ENOENT`. On Linux it is 2, and
results show it, in texts and as the status of a command that did not start. `Number` serves both: code that compares
with `errno` works, and what is printed is Linux's.
"""

import errno
import functools
import os

from modbox_python import host

# The names in WIT that differ from those of `errno`.
_NAMES = {
    "ACCESS": "EACCES", "WOULD_BLOCK": "EAGAIN", "ALREADY": "EALREADY", "BAD_DESCRIPTOR": "EBADF", "BUSY": "EBUSY",
    "DEADLOCK": "EDEADLK", "QUOTA": "EDQUOT", "EXIST": "EEXIST", "FILE_TOO_LARGE": "EFBIG",
    "ILLEGAL_BYTE_SEQUENCE": "EILSEQ", "IN_PROGRESS": "EINPROGRESS", "INTERRUPTED": "EINTR", "INVALID": "EINVAL",
    "IO": "EIO", "IS_DIRECTORY": "EISDIR", "LOOP": "ELOOP", "TOO_MANY_LINKS": "EMLINK", "MESSAGE_SIZE": "EMSGSIZE",
    "NAME_TOO_LONG": "ENAMETOOLONG", "NO_DEVICE": "ENODEV", "NO_ENTRY": "ENOENT", "NO_LOCK": "ENOLCK",
    "INSUFFICIENT_MEMORY": "ENOMEM", "INSUFFICIENT_SPACE": "ENOSPC", "NOT_DIRECTORY": "ENOTDIR",
    "NOT_EMPTY": "ENOTEMPTY", "NOT_RECOVERABLE": "ENOTRECOVERABLE", "UNSUPPORTED": "ENOTSUP", "NO_TTY": "ENOTTY",
    "NO_SUCH_DEVICE": "ENXIO", "OVERFLOW": "EOVERFLOW", "NOT_PERMITTED": "EPERM", "PIPE": "EPIPE",
    "READ_ONLY": "EROFS", "INVALID_SEEK": "ESPIPE", "TEXT_FILE_BUSY": "ETXTBSY", "CROSS_DEVICE": "EXDEV",
}

_system_strerror = os.strerror

# Linux's numbers and texts (glibc) of the errors that calls for files and sockets raise.
_LINUX = {
    "EPERM": (1, "Operation not permitted"),
    "ENOENT": (2, "No such file or directory"),
    "EIO": (5, "Input/output error"),
    "ENXIO": (6, "No such device or address"),
    "E2BIG": (7, "Argument list too long"),
    "EBADF": (9, "Bad file descriptor"),
    "EAGAIN": (11, "Resource temporarily unavailable"),
    "ENOMEM": (12, "Cannot allocate memory"),
    "EACCES": (13, "Permission denied"),
    "EBUSY": (16, "Device or resource busy"),
    "EEXIST": (17, "File exists"),
    "EXDEV": (18, "Invalid cross-device link"),
    "ENODEV": (19, "No such device"),
    "ENOTDIR": (20, "Not a directory"),
    "EISDIR": (21, "Is a directory"),
    "EINVAL": (22, "Invalid argument"),
    "EMFILE": (24, "Too many open files"),
    "ENOTTY": (25, "Inappropriate ioctl for device"),
    "ETXTBSY": (26, "Text file busy"),
    "EFBIG": (27, "File too large"),
    "ENOSPC": (28, "No space left on device"),
    "ESPIPE": (29, "Illegal seek"),
    "EROFS": (30, "Read-only file system"),
    "EMLINK": (31, "Too many links"),
    "EPIPE": (32, "Broken pipe"),
    "ENAMETOOLONG": (36, "File name too long"),
    "ENOLCK": (37, "No locks available"),
    "ENOSYS": (38, "Function not implemented"),
    "ENOTEMPTY": (39, "Directory not empty"),
    "ELOOP": (40, "Too many levels of symbolic links"),
    "EOVERFLOW": (75, "Value too large for defined data type"),
    "EILSEQ": (84, "Invalid or incomplete multibyte or wide character"),
    "ENOTSUP": (95, "Operation not supported"),
    "EDESTADDRREQ": (89, "Destination address required"),
    "EMSGSIZE": (90, "Message too long"),
    "ENOPROTOOPT": (92, "Protocol not available"),
    "EAFNOSUPPORT": (97, "Address family not supported by protocol"),
    "EADDRINUSE": (98, "Address already in use"),
    "EADDRNOTAVAIL": (99, "Cannot assign requested address"),
    "ENETDOWN": (100, "Network is down"),
    "ENETUNREACH": (101, "Network is unreachable"),
    "ECONNABORTED": (103, "Software caused connection abort"),
    "ECONNRESET": (104, "Connection reset by peer"),
    "ENOBUFS": (105, "No buffer space available"),
    "EISCONN": (106, "Transport endpoint is already connected"),
    "ENOTCONN": (107, "Transport endpoint is not connected"),
    "ETIMEDOUT": (110, "Connection timed out"),
    "ECONNREFUSED": (111, "Connection refused"),
    "EHOSTUNREACH": (113, "No route to host"),
    "EALREADY": (114, "Operation already in progress"),
    "EINPROGRESS": (115, "Operation now in progress"),
    "ESTALE": (116, "Stale file handle"),
    "EDQUOT": (122, "Disk quota exceeded"),
}


class Number(int):
    """An error's number: Linux's to look at, this interpreter's to compare with `errno`."""

    def __new__(cls, number):
        made = super().__new__(cls, _LINUX.get(errno.errorcode.get(number), (number,))[0])
        made.own = number
        return made

    def __eq__(self, other):
        return self.own == (other.own if isinstance(other, Number) else other)

    def __ne__(self, other):
        # `int` has its own.
        return not self == other

    def __hash__(self):
        return hash(self.own)


def error(number, filename=None, filename2=None):
    """Returns the error of one of this interpreter's numbers."""
    number = number.own if isinstance(number, Number) else number
    names = () if filename is None else (filename, None, filename2)
    return OSError(Number(number), strerror(number), *names)


def strerror(number):
    """Returns the text of a number, as `os.strerror` on Linux."""
    number = number.own if isinstance(number, Number) else number
    return _LINUX.get(errno.errorcode.get(number), (number, _system_strerror(number)))[1]


def renew(raised):
    """Returns the error that CPython raised in the form of `error`."""
    if raised.errno is None or isinstance(raised.errno, Number):
        return raised
    return error(raised.errno, raised.filename, raised.filename2)


def renewing(function, renew_error=renew):
    """Returns a function that raises the errors of CPython's in another form, that of `error`, once the run has begun."""

    @functools.wraps(function)
    def call(*arguments, **named):
        try:
            return function(*arguments, **named)
        except OSError as raised:
            renewed = renew_error(raised)
            if renewed is raised or not host.is_live():
                raise
            raise renewed from None

    return call


def from_host(code, filename=None):
    """Returns the error of a code of `wasi:filesystem`."""
    name = _NAMES.get(getattr(code, "name", ""), "EIO")
    return error(getattr(errno, name, errno.EIO), filename)


def of_host(function, *arguments, filename=None):
    """Calls a function of the host, and raises its error as `OSError`."""
    try:
        return function(*arguments)
    except host.Err as refused:
        raise from_host(refused.value, filename) from None
