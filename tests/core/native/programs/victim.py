"""Has shared memory, semaphores and a queue, and prints its number and theirs. At the next line of input it removes them,
and ends with 0 if nothing has changed them, and no signal has come.
"""
import ctypes
import os
import signal
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
signals = []
signal.signal(signal.SIGUSR1, lambda *_: signals.append(1))
memory, semaphores, queue = libc.shmget(0, 4096, 0o1600), libc.semget(0, 1, 0o1600), libc.msgget(0, 0o1600)
at = libc.shmat(memory, None, 0)
ctypes.memmove(at, b"secret", 6)
send = lambda text: libc.msgsnd(queue, ctypes.create_string_buffer(b"\1" + bytes(7) + text), len(text), 0)
assert min(memory, semaphores, queue, send(b"mine")) >= 0
print(os.getpid(), memory, semaphores, queue, flush=True)
sys.stdin.readline()
received = ctypes.create_string_buffer(64)
problems = ["a signal"] if signals else []
if ctypes.string_at(at, 6) != b"secret" or libc.shmctl(memory, 0, None) != 0:
    problems.append("the memory")
if libc.semctl(semaphores, 0, 12) != 0 or libc.semctl(semaphores, 0, 0) != 0:
    problems.append("the semaphores")
if libc.msgrcv(queue, received, 8, 0, 0o4000) != 4 or libc.msgrcv(queue, received, 8, 0, 0o4000) != -1:
    problems.append("the messages")
if libc.msgctl(queue, 0, None) != 0:
    problems.append("the queue")
if os.getpriority(os.PRIO_PROCESS, 0) != 0:
    problems.append("the priority")
sys.exit(f"changed: {problems}" if problems else 0)
