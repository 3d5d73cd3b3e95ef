"""Errors of sockets."""

import errno
import os
import socket

from modbox_python import errors, paths, sockets, tls_authorities
from tests.granted import Granted


class Errors(Granted):
    def test_errors_have_the_numbers_and_the_classes_of_linux(self):
        def fail(number):
            raise OSError(number, "words of another library")

        call = errors.renewing(fail)
        for name, kind in (("ECONNREFUSED", ConnectionRefusedError), ("ECONNRESET", ConnectionResetError),
                           ("EACCES", PermissionError), ("EHOSTUNREACH", OSError), ("EAGAIN", BlockingIOError)):
            with self.assertRaises(kind) as raised:
                call(getattr(errno, name))
            number = getattr(errno, name)
            self.assertEqual((raised.exception.errno, raised.exception.strerror), (number, os.strerror(number)))
            self.assertIsInstance(raised.exception.errno, errors.Number)

    def test_timeouts_stay_as_they_are(self):
        def fail():
            raise socket.timeout("timed out")

        with self.assertRaises(socket.timeout) as raised:
            errors.renewing(fail)()
        self.assertEqual(str(raised.exception), "timed out")

    def test_lookups_fail_in_the_words_of_glibc(self):
        error = sockets.lookup_error(socket.gaierror(socket.EAI_NONAME, "Name does not resolve"))
        self.assertEqual(error.strerror, "Name or service not known")
        other = socket.gaierror(12345, "other")
        self.assertIs(sockets.lookup_error(other), other)

    def test_a_lookup_that_is_denied_has_the_number_of_linux(self):
        error = sockets.lookup_error(PermissionError(errno.EACCES, "words of another library"))
        self.assertEqual((error.errno, error.strerror), (errno.EACCES, "Permission denied"))
        self.assertIsInstance(error.errno, errors.Number)


class Folders(Granted):
    def test_folders_that_the_host_does_not_have_are_not_asked_for(self):
        self.addCleanup(tls_authorities.renew, {})
        tls_authorities.renew({"absent": ["/none/of/these"]})
        base = paths._directories[-1][1]
        self.assertTrue(paths.is_hidden("/none/of/these", base))
        self.assertFalse(paths.is_hidden("/none/of", base) or paths.is_hidden("/", base))
