# Attacks on commands outside: a module that makes the call of stubs by itself, and lies. The test appends a line that calls `main`.
# Permitted are the words `TOOL ok`; every attack tries to have other words noted, or something else started.
import ctypes
import mmap
import os
import platform
import signal
import subprocess
import threading
import time

CALL = {'x86_64': 212}.get(platform.machine(), 18)
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long


def call(address, length, variables=0, more=0, umask=0o22):
    value = LIBC.syscall(ctypes.c_long(CALL), ctypes.c_void_p(address), ctypes.c_size_t(length), ctypes.c_void_p(variables),
                         ctypes.c_size_t(more), ctypes.c_ulong(umask))
    return value if value >= 0 else -ctypes.get_errno()


def ask(*words, variables=(), umask=0o22):
    text = b''.join(os.fsencode(word) + b'\0' for word in words)
    more = b''.join(os.fsencode(word) + b'\0' for word in variables)
    one, two = ctypes.create_string_buffer(text, len(text)), ctypes.create_string_buffer(more, len(more) or 1)
    return call(ctypes.addressof(one), len(text), ctypes.addressof(two), len(more), umask)


def rewriter(tool):
    """Two threads: one asks, the other changes the words all the time."""
    good, bad = (os.fsencode(f'{tool}\0{word}\0') for word in ('ok', 'no'))
    shared = mmap.mmap(-1, mmap.PAGESIZE)
    shared[:len(good)] = good
    over = False

    def change():
        while not over:
            shared[:len(bad)] = bad
            shared[:len(good)] = good

    thread = threading.Thread(target=change)
    thread.start()
    address = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    values = [call(address, len(good)) for _ in range(60)]
    over = True
    thread.join()
    return sorted(set(values))


def rewritten_stub(tool):
    """Rewrites the command line of a stub while it waits: its memory is writable by no other process."""
    child = subprocess.Popen([tool, 'ok'])
    failures = []
    for path in (f'/proc/{child.pid}/mem', f'/proc/{child.pid}/cmdline'):
        try:
            with open(path, 'r+b', buffering=0) as file:
                file.write(b'x')
        except OSError as error:
            failures.append(error.errno)
    return [child.wait(), len(failures)]


def other_words(tool):
    """Words around the permitted ones: none of them is covered."""
    other = [
        [tool], [tool, 'no'], [tool, 'ok', 'ok'], [tool, ''], ['', 'ok'], ['tool', 'ok'], ['./tool', 'ok'], [tool + '/', 'ok'],
        [os.path.dirname(tool) + '/../theirs/tool', 'ok'], [tool.replace('/theirs', '//theirs'), 'ok'], ['/bin/sh', '-c', 'true'],
        [tool, 'ok\n'], [tool, ' ok'], [tool, 'OK'], [tool, b'o\xffk'], [tool, 'o', 'k'], ['/proc/self/exe', 'ok'],
        ['/dev/modbox/ask', 'ok'], [tool + '\n', 'ok'], ['..' + tool, 'ok'], [tool, '--', 'ok'], [tool, '-ok'],
    ]
    return sorted({ask(*words) for words in other})


def broken_calls(tool):
    """Addresses and lengths that are wrong: each call fails, and nothing starts."""
    text = os.fsencode(f'{tool}\0ok\0')
    good = ctypes.create_string_buffer(text, len(text))
    at = ctypes.addressof(good)
    guarded = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(guarded))
    LIBC.mprotect(ctypes.c_void_p(start + mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 0)
    values = [
        call(at, 0), call(at, len(text) - 1), call(0, 10), call(1, 10), call(2 ** 64 - 5, 10), call(at, 2 ** 64 - 1),
        call(at, 1 << 20), call(start + mmap.PAGESIZE - 4, 64), call(2 ** 63, len(text)),
    ]
    long = ctypes.create_string_buffer(text + b'x' * 135_000, len(text) + 135_001)
    values.append(call(ctypes.addressof(long), len(text) + 135_001))
    return values


def hostile_streams(tool):
    """Streams that no program expects: a directory, a descriptor for paths alone, a socket, a closed one."""
    values = []
    for make in (lambda: os.open('/tmp', os.O_RDONLY), lambda: os.open('/tmp', os.O_PATH), lambda: os.open('/dev/full', os.O_WRONLY),
                 lambda: os.open('/proc/self/mem', os.O_RDONLY), lambda: os.pipe()[1]):
        def streams(make=make):
            own = make()
            for number in range(3):
                os.dup2(own, number)
        values.append(subprocess.run([tool, 'ok'], preexec_fn=streams).returncode)
    values.append(subprocess.run([tool, 'ok'], preexec_fn=lambda: [os.close(number) for number in range(3)]).returncode)
    return values


def variables(tool):
    """Variables that a loader, a shell or an interpreter acts on."""
    names = ['LD_PRELOAD', 'LD_LIBRARY_PATH', 'PATH', 'IFS', 'ENV', 'BASH_ENV', 'PYTHONPATH', 'HOME', 'LC_', 'LC_all', 'LANG\n', '']
    sent = [f'{name}=/tmp/x' for name in names] + ['LANG=/tmp/x', 'LC_ALL=%n', 'TZ=:/tmp/x', 'LANG=' + 'x' * 5000]
    return [ask(tool, 'ok', variables=sent, umask=2 ** 64 - 1 - 0o700), ask(tool, 'ok', variables=['x' * 9000])]


def dying_askers(tool):
    """Processes that ask and are killed at once, so that others may get their numbers."""
    for _ in range(200):
        child = os.fork()
        if child == 0:
            ask(tool, 'ok')
            os._exit(0)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return ask(tool, 'ok')


def signals(tool):
    """Signals at a stub that waits: it does not ask twice."""
    caught = []
    signal.signal(signal.SIGALRM, lambda *_: caught.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    value = ask(tool, 'ok')
    signal.setitimer(signal.ITIMER_REAL, 0, 0)
    child = subprocess.Popen([tool, 'ok'])
    for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGWINCH, signal.SIGCHLD, signal.SIGSTOP, signal.SIGCONT):
        child.send_signal(number)
    return [value, child.wait()]


def many(tool):
    """More asks than a run may make."""
    values = [ask(tool, 'no') for _ in range(9_995)]
    values += [ask(tool, 'ok') for _ in range(10)]
    return [values.count(0x1000), values.count(0), values[-1]]


def at_once(tool):
    """More commands at once than may run."""
    children = [subprocess.Popen([tool, 'ok']) for _ in range(30)]
    return [child.wait() for child in children]


def replaced_stub(tool):
    """Replaces stubs, modbox and the real programs in the room."""
    failures = 0
    for path in (tool, '/dev/modbox/ask', '/dev/modbox/0/' + os.path.basename(tool)):
        for action in (lambda: os.unlink(path), lambda: os.rename(path, path + '.x'), lambda: open(path, 'w'),
                       lambda: os.chmod(path, 0o777), lambda: os.symlink('/bin/sh', path), lambda: os.truncate(path, 0)):
            try:
                action()
            except OSError:
                failures += 1
    return [failures, subprocess.run([tool, 'ok']).returncode]


def linked_input(tool):
    """Swaps an input between a permitted file and others while commands start."""
    open('/tmp/good', 'w').write('good\n')
    over = False
    targets = ['/tmp/good', '/etc/hostname', '/proc/1/environ', '/dev/zero', '/dev/modbox/ask']

    def swap():
        number = 0
        while not over:
            number += 1
            try:
                os.symlink(targets[number % len(targets)], '/tmp/new')
                os.rename('/tmp/new', '/tmp/input')
            except OSError:
                pass

    os.symlink('/tmp/good', '/tmp/input')
    thread = threading.Thread(target=swap)
    thread.start()
    values = {ask(tool, '/tmp/input') for _ in range(30)}
    over = True
    thread.join()
    return sorted(values)


def slow_input(tool):
    """An input that no one writes: the call fails at once."""
    os.mkfifo('/tmp/fifo')
    start = time.monotonic()
    return [ask(tool, '/tmp/fifo'), time.monotonic() - start < 10]
