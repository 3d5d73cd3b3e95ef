"""Paths: their granted directory, and links."""

import errno
import unittest

from modbox_python import paths
from tests.granted import Granted


def walk(links, name, last=False):
    """Walks among links that exist only for the test."""
    return paths.walk(name, last, links.get)


class Walk(unittest.TestCase):
    def test_links_on_the_way_are_followed_and_the_last_one_on_request(self):
        links = {"/a": "/x/y", "/x/y/z": "/end", "/r": "rel/ative", "/d/up": "../a"}
        for name, last, expected in [
            ("/a/b", False, "/x/y/b"), ("/a", False, "/a"), ("/a", True, "/x/y"), ("/a/z/q", False, "/end/q"),
            ("/r/q", False, "/rel/ative/q"), ("/d/up/q", False, "/x/y/q"), ("/a/../q", False, "/x/q"),
            ("/../q", False, "/q"), ("/a/z", True, "/end"),
        ]:
            self.assertEqual(walk(links, name, last), expected, name)

    def test_a_loop_is_an_error(self):
        with self.assertRaises(OSError) as raised:
            walk({"/a": "/b", "/b": "/a"}, "/a/q")
        self.assertEqual(raised.exception.errno, errno.ELOOP)


class Place(Granted):
    def test_the_innermost_directory_is_taken_by_whole_names(self):
        for name, expected in [(self.path("a"), (self.root, "a")), (self.root, (self.root, ".")),
                               (self.root + "x/a", ("/", self.root[1:] + "x/a")), ("/", ("/", "."))]:
            self.assertEqual(paths.place(name), expected)

    def test_paths_become_absolute_and_keep_links_and_climbs(self):
        for name, expected in [("/a//b/./c", "/a/b/c"), ("/a/../b", "/a/../b"), ("/.a", "/.a"), ("/a/", "/a/"),
                               ("/", "/"), ("/a/.", "/a/")]:
            self.assertEqual(paths.absolute(name), expected)

    def test_a_path_that_no_host_could_take_is_an_error(self):
        for name, number in [(b"/\xff", errno.EILSEQ), ("", errno.ENOENT)]:
            with self.assertRaises(OSError) as raised:
                paths.absolute(name)
            self.assertEqual(raised.exception.errno, number)
        self.assertRaises(ValueError, paths.absolute, "/a\0b")
