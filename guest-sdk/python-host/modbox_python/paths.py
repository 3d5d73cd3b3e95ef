"""Paths of Python as absolute paths of the host, and the granted directories that they lie in.

The host follows links and `..` like Linux, so paths are passed to it as they were written.
"""

import errno
import os
import posixpath

from modbox_python import errors, host, names

_system_getcwd = os.getcwd

_directories = []

# Files that the interpreter was built from, and their folders. Modules have such paths as `__file__`, and `inspect`
# looks at all of them for a traceback. They are not there in a run; to ask the host would only be reported as denials.
# So are folders that the host has said it does not have.
_built_from = set()


def renew():
    """Reads the granted directories of this run, the longest paths first."""
    found = [(name.rstrip("/") or "/", descriptor) for descriptor, name in host.preopens.get_directories()]
    _directories[:] = sorted(found, key=lambda entry: len(entry[0]), reverse=True)


def hide(files, folder):
    """Marks files below a folder, and the folders of these files, as files that the interpreter was built from."""
    for file in files:
        while file.startswith(folder) and file not in _built_from:
            _built_from.add(file)
            file = posixpath.dirname(file)


def is_hidden(name, base):
    """Returns whether a path is one that the interpreter was built from, and is in no granted directory."""
    return name in _built_from and base is _directories[-1][1]


def getcwd():
    """Returns the working directory, as `os.getcwd`."""
    return names.from_host(_system_getcwd())


def getcwdb():
    """Returns the working directory as bytes."""
    return os.fsencode(getcwd())


def text(path):
    """Returns a path as the host's text."""
    name = names.to_host(path)
    if not name:
        raise errors.error(errno.ENOENT, path)
    if "\0" in name:
        raise ValueError("embedded null byte")
    return name


def absolute(path):
    """Returns the absolute path of a path as the host's text, without `.` on the way and repeated slashes. Links and `..`
    stay, and what ends the path: a slash asks for a directory, and Linux refuses to rename or remove a `.`."""
    name = text(path)
    if not name.startswith("/"):
        name = _system_getcwd().rstrip("/") + "/" + name
    if "//" in name or "/." in name:
        parts = [part for part in name.split("/") if part not in ("", ".")]
        end = "/." if name.endswith("/.") else "/" if name.endswith("/") else ""
        name = "/" + "/".join(parts) + (end if parts else "")
    return name


def place(name):
    """Returns the directory that contains an absolute path, and the rest of the path."""
    for at, descriptor in _directories:
        if at == "/":
            return descriptor, name.lstrip("/") or "."
        if name == at or name.startswith(at + "/"):
            return descriptor, name[len(at):].lstrip("/") or "."
    raise errors.error(errno.EACCES, names.from_host(name))
