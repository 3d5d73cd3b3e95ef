"""Errors of sockets and of name lookup, as on Linux: results show their numbers and words."""

import socket

from modbox_python import errors

# The methods that go to the network. A socket cannot be made without a grant.
_METHODS = ("__init__", "connect", "bind", "listen", "accept", "send", "sendall", "sendto", "recv", "recv_into", "recvfrom",
            "recvfrom_into", "shutdown", "getpeername", "getsockname", "getsockopt", "setsockopt")

# The functions that look up names, but for `getaddrinfo`.
_LOOKUPS = ("gethostbyaddr", "gethostbyname", "gethostbyname_ex", "getnameinfo")

# glibc's words for the failures of a lookup.
_LOOKUP = {
    "EAI_NONAME": "Name or service not known", "EAI_AGAIN": "Temporary failure in name resolution",
    "EAI_FAIL": "Non-recoverable failure in name resolution",
}


def lookup_error(error):
    """Returns the error of a lookup in glibc's words. One that no rule of the network allows fails like a call."""
    if not isinstance(error, socket.gaierror):
        return errors.renew(error)
    for name, words in _LOOKUP.items():
        if error.errno == getattr(socket, name, None):
            return socket.gaierror(error.errno, words)
    return error


def install():
    """Replaces the methods, and the functions that look up names."""
    for name in _LOOKUPS:
        if hasattr(socket, name):
            setattr(socket, name, errors.renewing(getattr(socket, name), lookup_error))
    for name in _METHODS:
        setattr(socket.socket, name, errors.renewing(getattr(socket.socket, name)))
