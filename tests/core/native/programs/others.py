"""Tries to reach another process of the same user, and says how each attempt went: `ok`, or the name of the error.

Usage: others.py VICTIM [SHARED-MEMORY SEMAPHORES QUEUE]
"""
import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys

victim, *ids = map(int, sys.argv[1:])
memory, semaphores, queue = ids or (0, 0, 0)
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
machine = os.uname().machine
NUMBERS = {  # x86_64, aarch64
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "mq_open": (240, 180), "mq_unlink": (241, 181), "prlimit64": (302, 261), "setpriority": (141, 140),
    "ioprio_set": (251, 30), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "process_madvise": (440, 440), "ptrace": (101, 117), "kcmp": (312, 272),
    "move_pages": (279, 239), "migrate_pages": (256, 238), "set_mempolicy": (238, 237), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280),
    "get_robust_list": (274, 100), "prctl": (157, 167),
}
results = {}


def call(name, *arguments):
    number = NUMBERS[name][machine != "x86_64"]
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
    attempt(name, call, name, *arguments)


limit = struct.pack("QQ", 1, 1)
priority = struct.pack("i", 0)
affinity = struct.pack("Q", 1)
attributes = struct.pack("IIQiIQQQ", 48, 3, 0, 19, 0, 0, 0, 0)
message = struct.pack("q", 1) + b"injected"
created = 0o1600

# What a program does to itself.
own = os.getpid()
attempt("own limit", resource.prlimit, 0, resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
attempt("own limit by number", resource.prlimit, own, resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
attempt("own priority", os.setpriority, os.PRIO_PROCESS, 0, 1)
attempt("own priority by number", os.setpriority, os.PRIO_PROCESS, own, 2)
attempt("own processors by number", os.sched_setaffinity, own, os.sched_getaffinity(0))
attempt("own input priority by number", call, "ioprio_set", 1, own, 2 << 13 | 5)
attempt("stream pair", socket.socketpair)
attempt("own signal", os.kill, own, 0)

# Memory, semaphores and queues of the victim, and new ones.
attempt("read memory", lambda: ctypes.string_at(call("shmat", memory, None, 0), 6))
attempt("remove memory", call, "shmctl", memory, 0, None)
attempt("operate semaphores", call, "semop", semaphores, struct.pack("HhH", 0, 1, 0), 1)
attempt("remove semaphores", call, "semctl", semaphores, 0, 0, None)
attempt("send a message", call, "msgsnd", queue, message, 8, 0o4000)
attempt("receive a message", call, "msgrcv", queue, ctypes.create_string_buffer(64), 8, 0, 0o4000)
attempt("remove a queue", call, "msgctl", queue, 0, None)
attempt_call("shmget", 0, 4096, created)
attempt_call("semget", 0, 1, created)
attempt_call("msgget", 0, created)
attempt_call("mq_open", b"modbox-test-others", os.O_CREAT | os.O_RDWR, 0o600, None)
attempt_call("mq_unlink", b"modbox-test-others")

# Its limits and priorities, and those of its group and user.
attempt("set a limit", call, "prlimit64", victim, resource.RLIMIT_CORE, limit, None)
attempt("read a limit", call, "prlimit64", victim, resource.RLIMIT_CORE, None, ctypes.create_string_buffer(16))
attempt("priority of a process", call, "setpriority", 0, victim, 19)
attempt("priority of a group", call, "setpriority", 1, victim, 19)
attempt("priority of a user", call, "setpriority", 2, os.getuid(), 19)
attempt("input priority of a process", call, "ioprio_set", 1, victim, 3 << 13)
attempt("input priority of a group", call, "ioprio_set", 2, victim, 3 << 13)
attempt("input priority of a user", call, "ioprio_set", 3, os.getuid(), 3 << 13)
attempt_call("sched_setaffinity", victim, 8, affinity)
attempt_call("sched_setscheduler", victim, 3, priority)
attempt_call("sched_setparam", victim, priority)
attempt_call("sched_setattr", victim, attributes, 0)

# What it does, and its memory.
attempt_call("inotify_init1", 0)
attempt_call("fanotify_init", 0, 0)
for name in ["process_vm_readv", "process_vm_writev"]:
    attempt_call(name, victim, struct.pack("QQ", 0, 0), 1, struct.pack("QQ", 0, 0), 1, 0)
attempt_call("ptrace", 0x4206, victim, 0, 0)
attempt_call("kcmp", victim, os.getpid(), 1, 0, 0)
attempt_call("move_pages", victim, 0, None, None, None, 0)
attempt_call("migrate_pages", victim, 64, affinity, affinity)
attempt_call("set_mempolicy", 0, None, 0)
attempt_call("perf_event_open", bytes(128), victim, -1, -1, 0)
attempt_call("userfaultfd", 1)
attempt_call("keyctl", 0, -4, 0)
attempt_call("add_key", b"user", b"modbox-test", b"x", 1, -4)
attempt_call("request_key", b"user", b"modbox-test", None, -4)
attempt_call("bpf", 0, None, 0)
attempt("get_robust_list", call, "get_robust_list", victim, ctypes.create_string_buffer(8), ctypes.create_string_buffer(8))


def look(path, name):
    if name in ("fdinfo", "map_files"):
        os.listdir(path)
    elif name in ("fd/0", "cwd", "root"):
        os.readlink(path)
    else:
        open(path, "rb").read(1)


for name in ["environ", "mem", "maps", "fd/0", "cwd", "root", "fdinfo", "auxv", "stack", "io", "map_files"]:
    attempt(f"/proc/PID/{name}", look, f"/proc/{victim}/{name}", name)
for name in ["oom_score_adj", "autogroup", "comm", "coredump_filter", "timerslack_ns"]:
    attempt(f"write /proc/PID/{name}", lambda: open(f"/proc/{victim}/{name}", "w").write("1"))

# Signals.
attempt("kill", os.kill, victim, signal.SIGUSR1)
attempt_call("tgkill", victim, victim, signal.SIGUSR1)
attempt_call("rt_sigqueueinfo", victim, signal.SIGUSR1, struct.pack("iii", signal.SIGUSR1, 0, -1) + bytes(116))
attempt("pidfd_send_signal", lambda: call("pidfd_send_signal", call("pidfd_open", victim, 0), signal.SIGUSR1, None, 0))
attempt("pidfd_getfd", lambda: call("pidfd_getfd", call("pidfd_open", victim, 0), 0, 0))


def signal_by_descriptor():
    one, other = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, victim)
    fcntl.fcntl(one, 10, signal.SIGUSR1)  # F_SETSIG
    fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    other.send(b"x")  # which sends the signal at once


attempt("signal by a descriptor", signal_by_descriptor)

# Sockets.
attempt("datagram pair", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt("raw pair", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW))
attempt("abstract socket", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "\0modbox-test"))

attempt("hide", call, "prctl", 4, 0, 0, 0, 0)
print(json.dumps({"changed": True, "tried": results}))
