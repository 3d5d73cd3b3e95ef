"""Paths: the granted directory that they lie in, and names that are not UTF-8."""

import errno
import os

from modbox_python import names, paths
from tests.granted import Granted


class Place(Granted):
    def test_the_innermost_directory_is_taken_by_whole_names(self):
        for name, expected in [(self.path("a"), (self.root, "a")), (self.root, (self.root, ".")),
                               (self.root + "x/a", ("/", self.root[1:] + "x/a")), ("/", ("/", "."))]:
            self.assertEqual(paths.place(name), expected)

    def test_paths_become_absolute_and_keep_links_and_climbs(self):
        for name, expected in [("/a//b/./c", "/a/b/c"), ("/a/../b", "/a/../b"), ("/.a", "/.a"), ("/a/", "/a/"),
                               ("/", "/"), ("/a/.", "/a/."), ("//a//", "/a/"), ("/./", "/")]:
            self.assertEqual(paths.absolute(name), expected)

    def test_a_path_that_no_host_could_take_is_an_error(self):
        with self.assertRaises(OSError) as raised:
            paths.absolute("")
        self.assertEqual(raised.exception.errno, errno.ENOENT)
        for name, kind in [("/a\0b", ValueError), ("/\ud800", UnicodeEncodeError), (3, TypeError)]:
            self.assertRaises(kind, paths.absolute, name)

    def test_the_working_directory_begins_relative_paths(self):
        self.assertEqual(paths.absolute("a"), os.path.join(os.getcwd(), "a"))


class Names(Granted):
    def test_a_byte_that_is_not_utf_8_is_one_character_of_the_host(self):
        for name, shown in [(b"a", "a"), ("\xe9".encode(), "\xe9"), (b"caf\xe9", "caf\U0010F7E9"),
                            ("\U0010F7E9".encode(), "\U0010F7F4\U0010F78F\U0010F79F\U0010F7A9"),
                            (b"\xff/\xc3\xa9\xc3", "\U0010F7FF/\xe9\U0010F7C3")]:
            self.assertEqual(names.to_host(name), shown)
            self.assertEqual(names.to_host(os.fsdecode(name)), shown)
            self.assertEqual(names.from_host(shown), os.fsdecode(name))

    def test_bytes_that_together_are_a_character_are_that_character(self):
        self.assertEqual(names.to_host("\udcc3\udca9"), "\xe9")

    def test_all_bytes_come_back(self):
        for first in range(1, 256):
            for rest in (b"", b"a", b"\xa9", b"\x8f\x9f\xa9", b"\xff\xe9"):
                name = bytes([first]) + rest
                self.assertEqual(os.fsencode(names.from_host(names.to_host(name))), name)
                names.to_host(name).encode()
