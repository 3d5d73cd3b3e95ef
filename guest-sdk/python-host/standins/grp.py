"""`grp` for the sandbox: the groups of `/etc/group`. A list that is not granted is an error, not an empty list."""

from collections import namedtuple

struct_group = namedtuple("struct_group", "gr_name gr_passwd gr_gid gr_mem")
struct_group.__module__ = "grp"


def getgrall():
    """Returns all groups."""
    groups = []
    with open("/etc/group", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields = line.rstrip("\n").split(":")
            if len(fields) == 4 and fields[2].isdigit():
                name, password, gid, members = fields
                listed = [member for member in members.split(",") if member]
                groups.append(struct_group(name, password, int(gid), listed))
    return groups


def getgrnam(name):
    """Returns the group of a name."""
    if not isinstance(name, str):
        raise TypeError("getgrnam() argument must be str, not %s" % type(name).__name__)
    for group in getgrall():
        if group.gr_name == name:
            return group
    raise KeyError("getgrnam(): name not found: %r" % name)


def getgrgid(id):
    """Returns the group of a number."""
    for group in getgrall():
        if group.gr_gid == id:
            return group
    raise KeyError("getgrgid(): gid not found: %d" % id)
