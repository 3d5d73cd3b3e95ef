"""Errors of the host."""

import errno
import unittest

from wit_world.imports import types

from modbox_python import errors


class Errors(unittest.TestCase):
    def test_every_code_of_wasi_has_a_number(self):
        for code in types.ErrorCode:
            raised = errors.from_host(code, "/p")
            # The names are those of `errno`, apart from the one that stands for unknown codes.
            self.assertTrue(raised.errno != errno.EIO or code is types.ErrorCode.IO, code)

    def test_an_error_has_the_class_of_its_number(self):
        for number, kind in [(errno.ENOENT, FileNotFoundError), (errno.EEXIST, FileExistsError),
                             (errno.EPERM, PermissionError), (errno.ENOTDIR, NotADirectoryError)]:
            self.assertIs(type(errors.error(number, "/p")), kind)

    def test_a_number_shows_linux_and_compares_with_this_interpreter(self):
        number = errors.Number(errno.ENOENT)
        number.own = 44  # As in WASI.
        self.assertEqual(repr(number), "2")
        self.assertTrue(number == 44 and number != 2 and hash(number) == hash(44))
        self.assertEqual(str(OSError(errors.Number(errno.ENOENT), "t", "/p")), "[Errno 2] t: '/p'")

    def test_an_error_is_renewed_with_its_files(self):
        renewed = errors.renew(OSError(errno.EEXIST, "other text", "/a", None, "/b"))
        self.assertEqual(str(renewed), "[Errno 17] File exists: '/a' -> '/b'")
        self.assertIs(errors.renew(renewed), renewed)
