"""Errors of sockets and of name lookup, as on Linux: results show their numbers and words."""

import functools
import socket

from modbox_python import errors, host

# The methods that go to the network. A socket cannot be made without a grant.
_METHODS = ("__init__", "connect", "bind", "listen", "accept", "send", "sendall", "sendto", "recv", "recv_into", "recvfrom",
            "recvfrom_into", "shutdown", "getpeername", "getsockname", "getsockopt", "setsockopt")

# glibc's words for the failures of a lookup.
_LOOKUP = {
    "EAI_NONAME": "Name or service not known", "EAI_AGAIN": "Temporary failure in name resolution",
    "EAI_FAIL": "Non-recoverable failure in name resolution",
}


def _renewing(method):
    @functools.wraps(method)
    def call(*arguments, **named):
        try:
            return method(*arguments, **named)
        except OSError as error:
            renewed = errors.renew(error)
            if renewed is error or not host.is_live():
                raise
            raise renewed from None

    return call


def lookup_error(error):
    """Returns the error of a lookup in glibc's words."""
    for name, words in _LOOKUP.items():
        if error.errno == getattr(socket, name, None):
            return socket.gaierror(error.errno, words)
    return error


def install():
    """Replaces the methods."""
    for name in _METHODS:
        setattr(socket.socket, name, _renewing(getattr(socket.socket, name)))
