"""Pipes to commands, and waiting for them.

A command has ended before its output can be read, so a pipe is bytes in memory. Its number is greater than that of any
open file; `os.read`, `select.select` and `select.poll` know such numbers, and find these pipes ready at once.
"""

import io
import itertools
import os
import select
import selectors

from modbox_python import errors, open_files, whole_writes

# Greater than any descriptor of WASI.
FIRST = 1 << 24

_numbers = itertools.count(FIRST)
_open = {}

_system_read, _system_set_blocking = errors.renewing(os.read), errors.renewing(os.set_blocking)
_system_select, _system_poll = select.select, select.poll


class OutputPipe(io.RawIOBase):
    """The output of a command. `finish` runs the command, and returns all of the output."""

    def __init__(self, finish):
        super().__init__()
        self._finish, self._bytes, self._at = finish, None, 0
        self._number = next(_numbers)
        _open[self._number] = self

    def fileno(self):
        """Returns the number of the pipe."""
        return self._number

    def readable(self):
        """Returns that the pipe can be read."""
        return True

    def readinto(self, buffer):
        """Reads the next bytes."""
        if self._bytes is None:
            self._bytes = self._finish()
        part = self._bytes[self._at:self._at + len(buffer)]
        buffer[:len(part)] = part
        self._at += len(part)
        return len(part)

    def close(self):
        """Closes the pipe."""
        _open.pop(self._number, None)
        super().close()


class InputPipe(io.RawIOBase):
    """The input of a command: collects what is written."""

    def __init__(self):
        super().__init__()
        self.collected = bytearray()
        self._number = next(_numbers)
        _open[self._number] = self

    def fileno(self):
        """Returns the number of the pipe."""
        return self._number

    def writable(self):
        """Returns that the pipe can be written."""
        return True

    def write(self, data):
        """Collects bytes."""
        data = bytes(data)
        self.collected += data
        return len(data)

    def close(self):
        """Ends the input."""
        _open.pop(self._number, None)
        super().close()


def read(descriptor, length):
    """Reads from a pipe or an open file."""
    pipe = _open.get(descriptor)
    return open_files.read(descriptor, length) if pipe is None else pipe.read(length)


def write(descriptor, data):
    """Writes to a pipe or an open file."""
    pipe = _open.get(descriptor)
    return whole_writes.write(descriptor, data) if pipe is None else pipe.write(data)


def close(descriptor):
    """Closes a pipe, and returns whether the number is one."""
    pipe = _open.get(descriptor)
    if pipe is not None:
        pipe.close()
    return pipe is not None


def set_blocking(descriptor, blocking):
    """Does nothing for a pipe, which never blocks."""
    if descriptor not in _open:
        _system_set_blocking(descriptor, blocking)


def is_pipe(descriptor):
    """Returns whether a number, or an object with one, is an open pipe."""
    number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
    return number in _open


def ready(readers, writers, others, timeout=None):
    """Waits for descriptors, as `select.select`."""
    readers, writers, others = list(readers), list(writers), list(others)
    found = [reader for reader in readers if is_pipe(reader)], [writer for writer in writers if is_pipe(writer)]
    rest = [item for item in readers if not is_pipe(item)], [item for item in writers if not is_pipe(item)]
    if not any(found):
        return _system_select(*rest, others, timeout)
    more = _system_select(*rest, others, 0) if any(rest) or others else ([], [], [])
    return found[0] + list(more[0]), found[1] + list(more[1]), list(more[2])


class Poll:
    """Waits for descriptors, as `select.poll`."""

    def __init__(self):
        self._system, self._pipes, self._count = _system_poll(), {}, 0

    def register(self, descriptor, events=select.POLLIN | select.POLLOUT | select.POLLPRI):
        """Adds a descriptor."""
        if is_pipe(descriptor):
            number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
            self._pipes[number] = events
        else:
            self._system.register(descriptor, events)
            self._count += 1

    def modify(self, descriptor, events):
        """Changes the events of a descriptor."""
        if descriptor in self._pipes:
            self._pipes[descriptor] = events
        else:
            self._system.modify(descriptor, events)

    def unregister(self, descriptor):
        """Removes a descriptor."""
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        if self._pipes.pop(number, None) is None:
            self._system.unregister(descriptor)
            self._count -= 1

    def poll(self, timeout=None):
        """Returns the descriptors that are ready."""
        found = [(number, events & (select.POLLIN | select.POLLOUT)) for number, events in self._pipes.items()]
        if not found:
            return self._system.poll(timeout)
        return found + (self._system.poll(0) if self._count else [])


def install():
    """Replaces the functions of `os` and `select`."""
    os.read, os.write, os.set_blocking = read, write, set_blocking
    select.select, select.poll = ready, Poll
    # `selectors` took the functions when it was imported.
    selectors.SelectSelector._select = staticmethod(ready)
    selectors.PollSelector._selector_cls = Poll
