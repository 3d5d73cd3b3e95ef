"""Threads, in a sandbox that has one: what a thread would do is done at once, when it is started.

So a pool of threads returns what it returns natively, and takes as long as its calls one after another. What waits for
something that only another thread could do would wait for ever; it raises `Unsupported`. Only the run's limits end a call
that natively ends with the time of `AsyncResult.get`.

A pool has nothing but calls that do not know of each other, and they are what modules have threads for. `threading.Thread`
may be anything, so a module that uses it starts here only on demand.
"""

import concurrent.futures
import concurrent.futures.thread
import multiprocessing
import multiprocessing.pool
import queue
import sys
import threading
import time

from modbox_python import pools, unsupported

# What needs a second process.
_PROCESSES = (
    "Array", "Barrier", "BoundedSemaphore", "Condition", "Event", "JoinableQueue", "Lock", "Manager", "Pipe", "Pool",
    "Process", "Queue", "RLock", "RawArray", "RawValue", "Semaphore", "SimpleQueue", "Value",
)


def _start(self):
    """Replaces `Thread.start`: runs the thread to its end."""
    if self._started.is_set():
        raise RuntimeError("threads can only be started once")
    number = self._ident = threading.get_ident()
    self._started.set()
    starter = threading.current_thread()
    threading._active[number] = self
    self._is_running = True
    try:
        self.run()
    except unsupported.Unsupported:
        # The module has to learn of it, and natively no thread would have this error.
        raise
    except BaseException:
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), self)))
    finally:
        self._is_running = False
        threading._active[number] = starter


def _is_alive(self):
    """Replaces `Thread.is_alive`."""
    return getattr(self, "_is_running", False)


def _join(self, timeout=None):
    """Replaces `Thread.join`."""
    del timeout
    if not self._started.is_set():
        raise RuntimeError("cannot join thread before it is started")
    if self.is_alive():
        raise RuntimeError("cannot join current thread")


def _wait(self, timeout=None):
    """Replaces `Condition.wait`, which events, queues and semaphores wait with. No other thread can notify."""
    del self
    if timeout is None:
        raise unsupported.Unsupported("a thread to wait for")
    time.sleep(max(timeout, 0))
    return False


def _timer(self):
    """Replaces `Timer.start`. At once is too early."""
    del self
    raise unsupported.Unsupported("threading.Timer")


def install():
    """Replaces what starts threads and waits for them."""
    threading.Thread.start, threading.Thread.is_alive, threading.Thread.join = _start, _is_alive, _join
    threading.Timer.start = _timer
    threading.Condition.wait = _wait
    # The one in C waits for a lock of its own.
    queue.SimpleQueue = queue._PySimpleQueue
    concurrent.futures.thread.ThreadPoolExecutor.submit = pools.submit
    multiprocessing.pool.ThreadPool = pools.ThreadPool
    for name in _PROCESSES:
        setattr(multiprocessing, name, unsupported.refuse("multiprocessing." + name))
