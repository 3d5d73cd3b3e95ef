"""Writes that WASI takes in parts."""

import os
import tempfile
import unittest
from unittest import mock

from modbox_python import whole_writes

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
