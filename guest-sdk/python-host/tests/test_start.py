"""The status that a run ends with, and the arguments that a module gets."""

import contextlib
import io
import sys
import unittest

from modbox_python import start


def _raise(error):
    raise error


class Start(unittest.TestCase):
    def test_the_status_is_that_of_cpython(self):
        for call, status in [
            (lambda: None, 0), (lambda: sys.exit(), 0), (lambda: sys.exit(0), 0), (lambda: sys.exit(3), 3),
            (lambda: sys.exit(256), 0), (lambda: sys.exit("text"), 1), (lambda: _raise(KeyboardInterrupt()), 1),
            (lambda: _raise(ValueError("x")), 1),
        ]:
            with contextlib.redirect_stderr(io.StringIO()) as shown:
                self.assertEqual(start._status(call), status)
        self.assertIn("ValueError: x", shown.getvalue())

    def test_arguments_are_wrapped_once(self):
        wrapped = b'{"ANSIBLE_MODULE_ARGS": {"a": 1}}'
        self.assertEqual(start._wrapped(b'{"a": 1}'), wrapped)
        self.assertEqual(start._wrapped(wrapped), wrapped)
