"""What an interpreter remembers, the status that a run ends with, and the arguments that a module gets."""

import abc
import _abc
import collections.abc
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

    def test_a_hook_for_uncaught_errors_is_called_as_by_cpython(self):
        hooks = [
            (lambda kind, error, trace: sys.exit(3), 3, ""),
            (lambda kind, error, trace: sys.stderr.write("told\n"), 1, "told\n"),
            (lambda kind, error, trace: _raise(KeyError("y")), 1, "Error in sys.excepthook:\n"),
        ]
        self.addCleanup(setattr, sys, "excepthook", sys.excepthook)
        for hook, status, begin in hooks:
            sys.excepthook = hook
            with contextlib.redirect_stderr(io.StringIO()) as shown:
                self.assertEqual(start._status(lambda: _raise(ValueError("x"))), status)
            self.assertTrue(shown.getvalue().startswith(begin), shown.getvalue())
        self.assertIn("Original exception was:", shown.getvalue())
        self.assertIn("ValueError: x", shown.getvalue())

    def test_arguments_are_wrapped_once(self):
        wrapped = b'{"ANSIBLE_MODULE_ARGS": {"a": 1}}'
        self.assertEqual(start._wrapped(b'{"a": 1}'), wrapped)
        self.assertEqual(start._wrapped(wrapped), wrapped)

    def test_abstract_classes_know_the_types_of_arguments(self):
        collections.abc.Mapping.register(type("Registered", (), {}))
        start._ask_abstract_classes()
        for kind in (collections.abc.Mapping, collections.abc.Sequence):
            _registry, _yes, no, version = _abc._get_dump(kind)
            self.assertEqual(version, abc.get_cache_token(), kind)
            self.assertIn(bool, {reference() for reference in no}, kind)
