"""Writes that WASI takes in parts, and files that are opened to be written."""

import errno
import io
import os
import tempfile
import unittest
import warnings
from types import SimpleNamespace
from unittest import mock

from modbox_python import errors, file_systems, opening, whole_writes
from tests.granted import Granted

PART = 10
_write = os.write


class WholeWritesTest(unittest.TestCase):
    def setUp(self):
        parts = mock.patch.object(whole_writes, "_system_write", lambda descriptor, data: _write(descriptor, data[:PART]))
        parts.start()
        self.addCleanup(parts.stop)

    def test_a_write_goes_on_until_everything_is_written(self):
        for data in (b"", b"a", b"b" * PART, b"c" * (PART * 3 + 1), bytearray(b"d" * 25)):
            with tempfile.TemporaryFile() as file:
                self.assertEqual(whole_writes.write(file.fileno(), data), len(data))
                file.seek(0)
                self.assertEqual(file.read(), data)

    def test_a_file_without_a_buffer_writes_everything(self):
        with tempfile.NamedTemporaryFile() as named:
            with whole_writes.File(named.name, "w") as file:
                self.assertEqual(file.write(b"x" * 100), 100)
                self.assertEqual(file.write(b""), 0)
            self.assertEqual(named.read(), b"x" * 100)

    def test_an_error_is_raised(self):
        with tempfile.TemporaryFile() as file:
            descriptor = file.fileno()
        with self.assertRaises(OSError):
            whole_writes.write(descriptor, b"x")


class FailedWritesTest(Granted):
    def write_error(self, number, available):
        """Returns the error of a write that fails with a number, in a file system with so many blocks available."""

        def fail(_part):
            raise OSError(number, "words of another library")

        space = mock.patch.object(file_systems, "statvfs", lambda _descriptor: SimpleNamespace(f_bavail=available))
        with space, self.assertRaises(OSError) as raised:
            whole_writes._all(fail, b"x", 3)
        self.assertIsInstance(raised.exception.errno, errors.Number)
        return raised.exception.errno, raised.exception.strerror

    def test_a_full_disk_is_the_cause_of_an_error_without_one(self):
        self.assertEqual(self.write_error(errno.EIO, 0), (errno.ENOSPC, "No space left on device"))
        self.assertEqual(self.write_error(errno.EIO, 1), (errno.EIO, "Input/output error"))
        self.assertEqual(self.write_error(errno.EBADF, 0), (errno.EBADF, "Bad file descriptor"))


class OpenedTest(Granted):
    def opened(self, function, name, arguments):
        """Opens a file, writes to it, and returns what can be seen of both, or the error."""
        path = self.write(name, "old\n") if arguments.get("mode", "w")[0] != "x" else self.path(name)
        try:
            with function(path, **arguments) as file:
                data = "a\nb" if "b" not in arguments.get("mode", "w") else b"a\nb"
                seen = [type(file), file.mode, file.write(data), file.tell(), file.seekable(), file.readable()]
                seen += [getattr(file, name, None) for name in ("encoding", "errors", "newlines", "line_buffering")]
        except (OSError, ValueError, TypeError, LookupError) as error:
            seen = [type(error), str(error).replace(path, "PATH")]
        with open(path, "rb") as file:
            return seen, file.read()

    def test_files_are_opened_as_by_cpython(self):
        modes = ("w", "wt", "tw", "a", "r+", "w+", "a+", "+r", "x", "wb", "bw", "r+b", "rb+", "ab", "wx", "wtb", "q")
        others = ({}, {"buffering": 0}, {"buffering": 1}, {"buffering": 5}, {"encoding": "latin-1", "errors": "ignore"},
                  {"newline": "\r\n"}, {"newline": "q"}, {"encoding": "no such"})
        cases = [{"mode": mode, **other} for mode in modes for other in others] + [{"mode": "w", "closefd": False}]
        for at, arguments in enumerate(cases):
            with warnings.catch_warnings(action="ignore"):
                ours = self.opened(opening.open_file, "ours-%d" % at, arguments)
                theirs = self.opened(io.open, "theirs-%d" % at, arguments)
            if arguments.get("buffering") == 0 and "b" in arguments["mode"]:
                theirs[0][0], ours[0][0] = (issubclass(kind[0][0], io.FileIO) for kind in (theirs, ours))
            self.assertEqual(ours, theirs, arguments)
