"""`pwd` for the sandbox: the users of `/etc/passwd`. A list that is not granted is an error, not an empty list."""

from collections import namedtuple

struct_passwd = namedtuple("struct_passwd", "pw_name pw_passwd pw_uid pw_gid pw_gecos pw_dir pw_shell")
struct_passwd.__module__ = "pwd"


def getpwall():
    """Returns all users."""
    users = []
    with open("/etc/passwd", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields = line.rstrip("\n").split(":")
            if len(fields) == 7 and fields[2].isdigit() and fields[3].isdigit():
                name, password, uid, gid, *rest = fields
                users.append(struct_passwd(name, password, int(uid), int(gid), *rest))
    return users


def getpwnam(name):
    """Returns the user of a name."""
    if not isinstance(name, str):
        raise TypeError("getpwnam() argument must be str, not %s" % type(name).__name__)
    for user in getpwall():
        if user.pw_name == name:
            return user
    raise KeyError("getpwnam(): name not found: %r" % name)


def getpwuid(uid):
    """Returns the user of a number."""
    for user in getpwall():
        if user.pw_uid == uid:
            return user
    raise KeyError("getpwuid(): uid not found: %d" % uid)
