"""Threads and pools, compared with those of the library; the replacements run in a process of their own."""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

# Prints the same with real threads and with the replacements.
SAME = """
import concurrent.futures, multiprocessing, multiprocessing.pool, queue, sys, threading

def call(value, *more, **named):
    if value == 3:
        raise KeyError(value)
    return value, more, named

def error(function, *arguments):
    try:
        return function(*arguments)
    except Exception as caught:
        return type(caught).__name__, str(caught)

pool = multiprocessing.pool.ThreadPool(processes=2, initializer=print, initargs=("begun",)) if REPLACED else None
if pool is None:
    print("begun")
    pool = multiprocessing.pool.ThreadPool(processes=2)
print(pool.apply(call, (1,), {"a": 2}), error(pool.apply, call, (3,)))
seen = []
done = pool.apply_async(call, (1,), callback=seen.append)
print(done.get(5), done.ready(), done.successful())
failed = pool.apply_async(call, (3,), error_callback=lambda found: seen.append(str(found)))
failed.wait()
print(error(failed.get, 1), failed.successful())
print(pool.map(call, range(3)), error(pool.map, call, range(5)), pool.starmap(call, [(1, 2), (4, 5)]))
results = pool.imap(call, [1, 3, 4])
print(next(results), error(next, results))
pool.close()
print(error(pool.apply, call, (1,)))
pool.join()
print(seen)
with concurrent.futures.ThreadPoolExecutor(max_workers=2) as executor:
    futures = [executor.submit(call, value, a=1) for value in range(5)]
    ended, left = concurrent.futures.wait(futures, timeout=5)
    print(len(ended), len(left), [error(future.result) for future in futures])
    print(list(executor.map(call, [1, 2])), len(list(concurrent.futures.as_completed(futures))))
print(error(executor.submit, call, 1))
found = []
thread = threading.Thread(target=lambda: found.append(threading.current_thread() is thread), name="t", daemon=True)
print(error(thread.join), thread.is_alive(), thread.ident)
thread.start()
thread.join(5)
print(found, thread.is_alive(), thread.ident is not None, error(thread.start), threading.current_thread().name)
threading.excepthook = lambda arguments: print(arguments.exc_type.__name__, arguments.thread.name)
thread = threading.Thread(target=lambda: 1 / 0, name="u")
thread.start()
thread.join()
for empty in (queue.Queue(), queue.SimpleQueue()):
    print(error(empty.get, True, 0.01))
print(threading.Event().wait(0.01))
"""

REPLACED = """
from modbox_python import threads
threads.install()
"""

REFUSED = """
import multiprocessing, queue, threading
from modbox_python.unsupported import Unsupported, raised
waiting = queue.SimpleQueue()
for call in (threading.Event().wait, queue.Queue().get, waiting.get, threading.Thread(target=waiting.get).start,
             threading.Timer(1, print).start, multiprocessing.Pipe, lambda: multiprocessing.Process(target=print)):
    try:
        call()
    except Unsupported:
        continue
    raise AssertionError(call)
print(raised())
"""


def run(program):
    """Runs a program, and returns what it prints."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.join(HERE, "fakes"), os.path.dirname(HERE)])}
    done = subprocess.run([sys.executable, "-B", "-c", program], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, check=False, timeout=60)
    return done.stdout


class Threads(unittest.TestCase):
    def test_threads_and_pools_do_what_real_ones_do(self):
        real, ours = run("REPLACED = False\n" + SAME), run("REPLACED = True\n" + REPLACED + SAME)
        self.assertEqual(ours, real)
        self.assertEqual(real.splitlines()[-1], "False", real)

    def test_what_waits_for_another_thread_or_process_is_an_error(self):
        shown = run(REPLACED + REFUSED).strip()
        self.assertEqual(shown, str(["a thread to wait for", "threading.Timer", "multiprocessing.Pipe",
                                     "multiprocessing.Process"]))
