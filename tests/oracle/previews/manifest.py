"""What is in a tree: for each path the state that a preview tells, and separately what a preview must not touch.

Paths are bytes, relative to the tree; the tree itself is the empty path. Only regular files are opened.
"""

import hashlib
import os
import stat

TYPES = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}


def special(found):
    """The words for a special file, as in a list of changes."""
    number = f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    kinds = {stat.S_IFCHR: f"character device {number}", stat.S_IFBLK: f"block device {number}", stat.S_IFIFO: "fifo"}
    return kinds.get(stat.S_IFMT(found.st_mode), "socket")


def text(path):
    """A path as the report has it: what is not UTF-8 is escaped."""
    try:
        return path.decode()
    except UnicodeDecodeError:
        return str(path)[2:-1].replace("\\'", "'")


def paths(tree):
    """Yields all paths below a tree, the tree itself first."""
    pending = [b""]
    while pending:
        path = pending.pop()
        yield path
        whole = os.path.join(os.fsencode(tree), path)
        if stat.S_ISDIR(os.lstat(whole).st_mode):
            pending.extend(os.path.join(path, name) for name in os.listdir(whole))


def state(whole, found):
    """The state of an entry that a change tells: all but its modification time."""
    kind = TYPES.get(stat.S_IFMT(found.st_mode), "special")
    entry = {
        "type": kind,
        "mode": f"{stat.S_IMODE(found.st_mode):04o}",
        "uid": found.st_uid,
        "gid": found.st_gid,
        "size": found.st_size if kind == "file" else 0,
        "xattrs": sorted(os.listxattr(whole, follow_symlinks=False)),
    }
    if kind == "file":
        with open(whole, "rb") as file:
            entry["sha256"] = hashlib.sha256(file.read()).hexdigest()
    elif kind == "link":
        entry["target"] = text(os.readlink(whole))
    elif kind == "special":
        entry["target"] = special(found)
    return entry


def states(tree):
    """The state of each entry, by its path as text."""
    found = {}
    for path in paths(tree):
        whole = os.path.join(os.fsencode(tree), path)
        found[text(path)] = state(whole, os.lstat(whole))
    return found


def links(tree):
    """The sets of paths that are names of one file."""
    names = {}
    for path in paths(tree):
        found = os.lstat(os.path.join(os.fsencode(tree), path))
        if not stat.S_ISDIR(found.st_mode):
            names.setdefault((found.st_dev, found.st_ino), set()).add(text(path))
    return sorted(sorted(group) for group in names.values() if len(group) > 1)


def traces(tree):
    """What no preview may change: states with the values of attributes, both times, and the numbers of inodes."""
    found = {}
    for path in paths(tree):
        whole = os.path.join(os.fsencode(tree), path)
        one = os.lstat(whole)
        values = {name: os.getxattr(whole, name, follow_symlinks=False) for name in os.listxattr(whole, follow_symlinks=False)}
        state_of_it = state(whole, one)
        if stat.S_ISREG(one.st_mode):
            del state_of_it["xattrs"]
        found[text(path)] = (state_of_it, values, one.st_mtime_ns, one.st_ctime_ns, one.st_dev, one.st_ino, one.st_nlink)
    return found
