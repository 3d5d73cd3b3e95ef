"""Finds the granted directory of a path, and follows the links that WASI refuses to follow.

WASI resolves a path below one directory, and refuses absolute links. A native program follows them. `walk` does that,
one name at a time; each step is a call that the host checks, so a link reaches only what is granted.
"""

import errno
import os
import posixpath

from modbox_python import errors, host

# The most links on a path; Linux has the same number.
MAX_LINKS = 40

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


def text(path):
    """Returns a path as text. A path that is not UTF-8 cannot be passed to the host."""
    name = os.fsdecode(path)
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise errors.error(errno.EILSEQ, path) from None
    if not name:
        raise errors.error(errno.ENOENT, path)
    if "\0" in name:
        raise ValueError("embedded null byte")
    return name


def absolute(path):
    """Returns the absolute path of a path, without `.` and repeated slashes. Links and `..` stay."""
    name = text(path)
    if not name.startswith("/"):
        name = os.getcwd().rstrip("/") + "/" + name
    if "//" in name or "/." in name:
        names = [part for part in name.split("/") if part not in ("", ".")]
        # A slash at the end asks for a directory.
        end = "/" if name.endswith(("/", "/.")) and names else ""
        name = "/" + "/".join(names) + end
    return name


def place(name):
    """Returns the directory that contains an absolute path, and the rest of the path."""
    for at, descriptor in _directories:
        if at == "/":
            return descriptor, name.lstrip("/") or "."
        if name == at or name.startswith(at + "/"):
            return descriptor, name[len(at):].lstrip("/") or "."
    raise errors.error(errno.ENOENT, name)


def climbs(name):
    """Returns whether a path has a `..`, which leads above its directory."""
    return "/../" in name or name.endswith("/..")


def walk(name, last=False, target=None):
    """Returns an absolute path with the links on it followed, those at its end only with `last`.

    `target` returns a link's target, or `None` for other files. It raises `OSError` for a missing file; the rest of the
    path is then returned as it is.
    """
    target = target or link_target
    todo = [part for part in name.split("/") if part][::-1]
    done, links = "/", 0
    while todo:
        part = todo.pop()
        if part == "..":
            done = posixpath.dirname(done)
            continue
        here = posixpath.join(done, part)
        if not todo and not last:
            return here
        try:
            leads_to = target(here)
        except OSError:
            return posixpath.join(here, *todo[::-1])
        if leads_to is None:
            done = here
            continue
        links += 1
        if links > MAX_LINKS:
            raise errors.error(errno.ELOOP, name)
        if leads_to.startswith("/"):
            done = "/"
        todo.extend([part for part in leads_to.split("/") if part not in ("", ".")][::-1])
    return done


def link_target(name):
    """Returns the target of the link at an absolute path, or `None` for another file."""
    from modbox_python import attributes
    found = attributes.look_once(name)
    return None if found.target is None else os.fsdecode(found.target)
