"""File systems, compared with CPython on this machine."""

import os

from modbox_python import file_systems, open_files
from tests.granted import Granted

# What no other process of this machine changes.
_FIELDS = ("f_bsize", "f_frsize", "f_blocks", "f_files", "f_flag", "f_namemax", "f_fsid")


class FileSystems(Granted):
    def test_a_file_system_is_that_of_cpython(self):
        path = self.write("file", "text")
        os.symlink(path, self.path("link"))
        for name in (self.root, path, self.path("link")):
            expected, found = os.statvfs(name), file_systems.statvfs(name)
            for field in _FIELDS:
                # Python 3.6 has no number of a file system.
                if hasattr(expected, field):
                    self.assertEqual(getattr(found, field), getattr(expected, field), field)
            self.assertEqual((len(found), type(found).__name__), (len(expected), "statvfs_result"))
            self.assertGreaterEqual(found.f_blocks, found.f_bfree)

    def test_an_open_file_has_one(self):
        with open(self.write("file"), "rb") as file:
            open_files.remember(file.fileno(), self.path("file"), os.O_RDONLY)
            self.addCleanup(open_files.forget, file.fileno())
            self.assertEqual(file_systems.statvfs(file.fileno()).f_blocks, os.fstatvfs(file.fileno()).f_blocks)

    def test_what_is_not_there_is_an_error(self):
        self.assertRaises(FileNotFoundError, file_systems.statvfs, self.path("none"))
