"""Tries, as root, to get at what no grant covers, and says how each attempt went: `ok`, or the name of the error.

Usage: root.py DATA OTHER

DATA is a directory that is granted for writing, with a file `theirs` of another user. OTHER is not granted; it has the files
`secret` and `script`. No attempt would harm the machine if it succeeded: paths are those of the test, and calls that act on
the machine have arguments that the kernel refuses after it has looked at the caller's rights.
"""
import ctypes
import errno
import fcntl
import json
import os
import resource
import socket
import stat
import struct
import sys

data, other = sys.argv[1:]
secret, script, theirs = f"{other}/secret", f"{other}/script", f"{data}/theirs"
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
machine = os.uname().machine
NUMBERS = {  # x86_64, aarch64
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "mount_setattr": (442, 442),
    "reboot": (169, 142), "kexec_load": (246, 104), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "swapon": (167, 224), "swapoff": (168, 225), "sethostname": (170, 161),
    "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "syslog": (103, 116), "acct": (163, 89), "quotactl": (179, 60), "vhangup": (153, 58), "iopl": (172, None),
    "ioperm": (173, None), "bpf": (321, 280), "io_uring_setup": (425, 425), "fanotify_init": (300, 262),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "capset": (126, 91), "personality": (135, 92),
    "setuid": (105, 146), "setgid": (106, 144), "setresuid": (117, 147), "setgroups": (116, 159), "setfsuid": (122, 151),
    "fchmodat2": (452, 452), "perf_event_open": (298, 241), "prlimit64": (302, 261),
}
results = {}


def call(name, *arguments):
    number = NUMBERS[name][machine != "x86_64"]
    if number is None:
        raise OSError(errno.ENOSYS, name)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def attempt(what, action, *arguments):
    try:
        action(*arguments)
        results[what] = "ok"
    except OSError as error:
        results[what] = errno.errorcode.get(error.errno, str(error.errno))
    except Exception as error:
        results[what] = repr(error)


def attempt_call(name, *arguments):
    attempt(f"call {name}", call, name, *arguments)


def link_and(action):
    """Calls an action on a link in DATA that leads to the secret file."""
    link = f"{data}/link"
    if not os.path.lexists(link):
        os.symlink(secret, link)
    action(link)


def with_open(path, flags, action):
    descriptor = os.open(path, flags)
    try:
        action(descriptor)
    finally:
        os.close(descriptor)


def write(path):
    with open(path, "w") as file:
        file.write("1")


# What the grant gives: root's rights to files of others, modes and times among them.
attempt("granted: read a file of others", lambda: open(theirs).read())
attempt("granted: write a file of others", lambda: open(theirs, "a").write("x"))
attempt("granted: mode of a file of others", os.chmod, theirs, 0o640)
attempt("granted: times of a file of others", os.utime, theirs, (1, 2))
attempt("granted: sticky bit of a directory", lambda: (os.mkdir(f"{data}/sticky"), os.chmod(f"{data}/sticky", 0o1777)))
attempt("granted: a known owner", lambda: (open(f"{data}/new", "w").close(), os.chown(f"{data}/new", os.stat(theirs).st_uid, -1)))
attempt("granted: remove a file of others", os.remove, f"{data}/gone")

# In its own directory it gives files any owner, and none of them gets out.
own = f"{os.environ['TMPDIR']}/own"
attempt("granted: an owner in its own directory", lambda: (open(own, "w").close(), os.chown(own, 4321, 4321)))
attempt("move what has an owner", os.rename, own, f"{data}/own")
attempt("link what has an owner", os.link, own, f"{data}/own")
attempt("move a directory of it", lambda: (os.mkdir(f"{own}.d"), os.rename(own, f"{own}.d/f")))
attempt("move a directory out", lambda: os.rename(f"{own}.d", f"{data}/own.d"))

# Files that are not granted.
attempt("read", lambda: open(secret).read())
attempt("write", lambda: open(secret, "a"))
attempt("truncate", os.truncate, secret, 0)
attempt("make", lambda: open(f"{other}/made", "x"))
attempt("make a directory", os.mkdir, f"{other}/made")
attempt("make a link", os.symlink, "x", f"{other}/made")
attempt("make a FIFO", os.mkfifo, f"{other}/made")
attempt("remove", os.remove, secret)
attempt("rename out", os.rename, theirs, f"{other}/theirs")
attempt("rename in", os.rename, secret, f"{data}/secret")
attempt("rename a directory in", os.rename, other, f"{data}/other")
attempt("hard link in", os.link, secret, f"{data}/secret")
attempt("hard link out", os.link, theirs, f"{other}/theirs")
attempt("list", os.listdir, other)
attempt("run", lambda: os.execv(script, [script]))
attempt("enter and read", lambda: (os.chdir(other), open("secret").read()))
attempt("read by a link", link_and, lambda link: open(link).read())
attempt("write by a link", link_and, lambda link: open(link, "a"))
attempt("mode by a link", link_and, lambda link: os.chmod(link, 0o666))
attempt("owner by a link", link_and, lambda link: os.chown(link, 1234, -1))
attempt("times by a link", link_and, lambda link: os.utime(link, (1, 2)))
attempt("mode", os.chmod, secret, 0o666)
attempt("mode, fchmodat2", lambda: call("fchmodat2", -100, secret.encode(), 0o666, 0))
attempt("mode by a descriptor", with_open, other, os.O_PATH, lambda at: os.chmod("secret", 0o666, dir_fd=at))
attempt("mode of a descriptor", with_open, "/usr/bin/env", os.O_RDONLY, lambda fd: os.fchmod(fd, 0o777))
attempt("mode of a path in /proc", with_open, "/usr/bin/env", os.O_RDONLY, lambda fd: os.chmod(f"/proc/self/fd/{fd}", 0o777))
attempt("owner", os.chown, secret, 1234, -1)
attempt("owner of a link", os.lchown, secret, 1234, -1)
attempt("owner of a descriptor", with_open, "/usr/bin/env", os.O_RDONLY, lambda fd: os.fchown(fd, 1234, -1))
attempt("times", os.utime, secret, (1, 2))
attempt("times of a descriptor", with_open, "/usr/bin/env", os.O_RDONLY, lambda fd: os.utime(fd, (1, 2)))
attempt("attribute", os.setxattr, secret, "user.test", b"x")
attempt("attribute of a descriptor", with_open, "/usr/bin/env", os.O_RDONLY, lambda fd: os.setxattr(fd, "user.test", b"x"))
attempt("capability of a file", os.setxattr, theirs, "security.capability", struct.pack("<IIIII", 0x2000000, 0, 0, 0, 0))
attempt("flags of a file", with_open, theirs, os.O_RDONLY, lambda fd: fcntl.ioctl(fd, 0x40086602, struct.pack("l", 0x10)))
attempt("set-user-id", os.chmod, theirs, 0o4755)
attempt("set-group-id", os.chmod, theirs, 0o2755)
attempt("set-user-id of a new file", lambda: os.close(os.open(f"{data}/setid", os.O_CREAT | os.O_WRONLY, 0o4755)))
attempt("an owner that is not granted", os.chown, theirs, 4321, -1)
attempt("a group that is not granted", os.chown, theirs, -1, 4321)
attempt("lock", with_open, "/usr/bin/env", os.O_RDONLY, lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB))
attempt("lease", with_open, "/usr/bin/env", os.O_RDONLY, lambda fd: fcntl.fcntl(fd, 1024, fcntl.F_RDLCK))

# Devices, and what the kernel shows as files.
attempt("device", os.mknod, f"{data}/device", stat.S_IFCHR | 0o600, os.makedev(1, 1))
attempt("disk", os.mknod, f"{data}/disk", stat.S_IFBLK | 0o600, os.makedev(254, 0))
for path in ["/dev/mem", "/dev/kmsg", "/dev/loop-control", "/dev/fuse", "/dev/console"]:
    attempt(f"open {path}", lambda: os.close(os.open(path, os.O_RDWR)))
for path in ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/proc/1/oom_score_adj",
             "/proc/self/oom_score_adj", "/proc/self/uid_map", "/proc/self/attr/current", "/sys/kernel/mm/ksm/run",
             "/sys/fs/cgroup/cgroup.procs"]:
    attempt(f"write {path}", lambda: os.close(os.open(path, os.O_WRONLY)))
for path in ["/proc/kcore", "/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/etc/shadow", "/sys/kernel/vmcoreinfo"]:
    attempt(f"read {path}", lambda: open(path, "rb").read(1))
attempt("cross /proc/1/root", lambda: os.listdir("/proc/1/root"))
attempt("cross /proc/1/cwd", lambda: os.listdir("/proc/1/cwd/."))
attempt("descriptor of process 1", lambda: os.readlink("/proc/1/fd/0"))

# The machine.
attempt_call("mount", b"none", b"/nonexistent", b"tmpfs", 0, None)
attempt_call("umount2", b"/nonexistent", 0)
attempt_call("pivot_root", b"/nonexistent", b"/nonexistent")
attempt_call("chroot", b"/nonexistent")
for name, flag in [("user", 0x10000000), ("mount", 0x00020000), ("pid", 0x20000000), ("net", 0x40000000), ("cgroup", 0x02000000)]:
    attempt(f"call unshare, {name}", call, "unshare", flag)
attempt_call("setns", -1, 0)
attempt_call("open_tree", -1, b"/nonexistent", 0)
attempt_call("move_mount", -1, b"", -1, b"", 0)
attempt_call("fsopen", b"nonexistent", 0)
attempt_call("mount_setattr", -1, b"", 0, None, 0)
attempt_call("reboot", 0, 0, 0, None)
attempt_call("kexec_load", 0, 1 << 20, None, 0)
attempt_call("init_module", None, 0, None)
attempt_call("finit_module", -1, None, 0)
attempt_call("delete_module", None, 0)
attempt_call("swapon", b"/nonexistent", 0)
attempt_call("swapoff", b"/nonexistent")
attempt_call("sethostname", None, 1 << 20)
attempt_call("setdomainname", None, 1 << 20)
attempt_call("settimeofday", struct.pack("qq", 0, 1 << 40), None)
attempt_call("clock_settime", 0, struct.pack("qq", 0, 1 << 40))
attempt_call("adjtimex", struct.pack("I", 0x8000) + bytes(204))
attempt_call("syslog", 3, None, 0)
attempt_call("acct", b"/nonexistent")
attempt_call("quotactl", 0x800002 << 8, b"/nonexistent", 0, None)
attempt_call("bpf", 0, None, 0)
attempt_call("io_uring_setup", 0, None)
attempt_call("fanotify_init", 0, 0)
attempt_call("name_to_handle_at", -100, b"/", ctypes.create_string_buffer(136), ctypes.create_string_buffer(8), 0)
attempt_call("open_by_handle_at", -100, ctypes.create_string_buffer(136), 0)
attempt_call("perf_event_open", bytes(128), -1, 0, -1, 0)
attempt_call("personality", 0x0040000)

# Its own rights.
attempt_call("setuid", 1234)
attempt_call("setgid", 1234)
attempt_call("setresuid", 1234, 1234, 1234)
attempt_call("setgroups", 1, struct.pack("I", 1234))
attempt_call("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("IIIIII", 3, 3, 0, 0, 0, 0))
attempt("more open files", call, "prlimit64", 0, resource.RLIMIT_NOFILE, struct.pack("QQ", 1 << 20, 1 << 20), None)
attempt("a higher priority", os.setpriority, os.PRIO_PROCESS, 0, -10)
attempt("a real-time priority", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))

# Sockets, without a granted network.
for family in [socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_PACKET, socket.AF_NETLINK, 38, 40]:
    attempt(f"socket of family {int(family)}", lambda: socket.socket(family, socket.SOCK_STREAM if family < 16 else socket.SOCK_RAW))

status = {line.split(":")[0]: line.split()[1] for line in open("/proc/self/status") if line.startswith("Cap")}
print(json.dumps({"changed": True, "tried": results, "capabilities": status}))
