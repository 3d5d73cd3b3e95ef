"""The user, the machine and the umask that the run was started with.

The host has no functions for most of them, so they come in the start file. A value that the start file lacks makes its
function fail.
"""

import os

from modbox_python import host
from modbox_python.unsupported import Unsupported

_facts = {}
_umask = _umask_of_host = None

# The attributes of `os.uname_result`, and the keys of the start file.
_UNAME = ("system", "node", "release", "version", "machine")


def renew(facts):
    """Takes the values of this run."""
    global _umask, _umask_of_host
    _facts.clear()
    _facts.update(facts)
    _umask = _umask_of_host = host.files.umask()


def _number(key, function):
    def get():
        if key not in _facts:
            raise Unsupported(function)
        return _facts[key]

    get.__name__ = get.__qualname__ = function.rsplit(".", 1)[-1]
    return get


getuid = _number("uid", "os.getuid")
getgid = _number("gid", "os.getgid")
geteuid = _number("uid", "os.geteuid")
getegid = _number("gid", "os.getegid")
getgroups = _number("groups", "os.getgroups")
getppid = _number("parent", "os.getppid")
gethostname = _number("node", "socket.gethostname")


def uname():
    """Returns the names of the system and the machine."""
    missing = [key for key in _UNAME if key not in _facts]
    if missing:
        raise Unsupported("os.uname")
    return os.uname_result([_facts[key] for key in _UNAME])


def umask(mask):
    """Sets the permissions that new files do not get, and returns those of before."""
    global _umask
    before, _umask = current_umask(), mask & 0o777
    restrict_new(0)
    return before


def current_umask():
    """Returns the permissions that new files do not get."""
    return host.files.umask() if _umask is None else _umask


def restrict_new(mode):
    """Makes the host give new files and directories neither these permissions nor those of the umask."""
    host.file_changes.restrict_new(mode | current_umask() & ~umask_of_host())


def umask_of_host():
    """Returns the permissions that the host never gives to new files."""
    return host.files.umask() if _umask_of_host is None else _umask_of_host
