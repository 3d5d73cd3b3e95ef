"""Attributes, changes and listings of files, compared with CPython on this machine."""

import errno
import itertools
import os
import stat
import time

from wit_world.imports import files, types

from modbox_python import access, attributes, changes, identity, listing, open_files, opening, paths
from modbox_python.unsupported import Unsupported
from tests.granted import FACTS, Granted

_FIELDS = ("st_mode", "st_ino", "st_dev", "st_nlink", "st_uid", "st_gid", "st_size", "st_mtime_ns", "st_ctime_ns",
           "st_blksize", "st_blocks", "st_rdev", "st_mtime")


class Attributes(Granted):
    def setUp(self):
        super().setUp()
        self.write("file", "text", 0o640)
        self.write("folder/inner", "i", 0o4755)
        for name, target in [("relative", "file"), ("absolute", self.path("file")), ("broken", "none"),
                             ("way", self.path("folder")), ("folder/up", "../file"), ("loop", "loop")]:
            os.symlink(target, self.path(name))

    def test_attributes_are_those_of_cpython(self):
        names = ["file", "folder", "folder/inner", "relative", "absolute", "broken", "way", "way/inner", "folder/up",
                 "way/up", "folder/../file", "way/", "."]
        for name in names:
            for follow in (True, False):
                path = self.path(name)
                if name == "broken" and follow:
                    continue
                expected, found = os.stat(path, follow_symlinks=follow), attributes.stat(path, follow)
                for field in _FIELDS:
                    self.assertEqual(getattr(found, field), getattr(expected, field), (name, follow, field))
                # Reading a link sets its time of access.
            self.assertEqual(tuple(found)[:7] + tuple(found)[8:10], tuple(expected)[:7] + tuple(expected)[8:10])

    def test_errors_are_those_of_cpython(self):
        for name in ("none", "broken", "loop", "file/x", "file/", "none/x"):
            with self.assertRaises(OSError) as expected:
                os.stat(self.path(name))
            with self.assertRaises(OSError) as found:
                attributes.stat(self.path(name))
            self.assertEqual(str(found.exception), str(expected.exception))
            self.assertIs(type(found.exception), type(expected.exception))

    def test_an_unknown_kind_is_an_error(self):
        found = files.stat(self.root, attributes.flags(False), "file")._replace(kind=types.DescriptorType.UNKNOWN)
        self.assertRaises(OSError, attributes.result, found, (0, 0, 0))

    def test_entries_are_those_of_cpython(self):
        expected = {entry.name: entry for entry in os.scandir(self.root)}
        found = {entry.name: entry for entry in listing.Entries(self.root)}
        self.assertEqual(expected.keys(), found.keys())
        for name, entry in found.items():
            other = expected[name]
            if name == "loop":
                continue
            for follow in (True, False):
                self.assertEqual(entry.is_dir(follow_symlinks=follow), other.is_dir(follow_symlinks=follow), name)
                self.assertEqual(entry.is_file(follow_symlinks=follow), other.is_file(follow_symlinks=follow), name)
            self.assertEqual((entry.path, entry.is_symlink(), entry.inode()),
                             (other.path, other.is_symlink(), other.inode()))
            self.assertEqual(entry.stat(follow_symlinks=False).st_mode, other.stat(follow_symlinks=False).st_mode)
        in_bytes = {entry.path for entry in listing.Entries(os.fsencode(self.root))}
        self.assertEqual(in_bytes, {entry.path for entry in os.scandir(os.fsencode(self.root))})

    def test_no_way_to_attributes_returns_mode_0(self):
        for entry in listing.Entries(self.root):
            if entry.name not in ("broken", "loop"):
                self.assertNotEqual(stat.S_IMODE(entry.stat().st_mode), 0)
        with opening.open_file(self.path("file")) as file:
            self.assertEqual(stat.S_IMODE(open_files.fstat(file.fileno()).st_mode), 0o640)

    def test_files_that_the_interpreter_was_built_from_are_not_asked_for(self):
        self.addCleanup(paths._built_from.clear)
        paths.hide(["/build/a/b.py", self.path("file")], "/")
        before = files.stat
        self.addCleanup(setattr, files, "stat", before)
        files.stat = lambda *arguments: self.fail(arguments)
        for name in ("/build", "/build/a", "/build/a/b.py"):
            self.assertRaises(FileNotFoundError, attributes.stat, name)
        files.stat = before
        # A granted file is one of the run.
        attributes.stat(self.path("file"))


class Changes(Granted):
    def test_modes_are_set_and_set_id_bits_of_files_are_refused(self):
        path = self.write("file", mode=0o600)
        os.symlink(path, self.path("link"))
        changes.chmod(self.path("link"), 0o751)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o751)
        for mode in (0o4751, 0o2751):
            with self.assertRaises(PermissionError):
                changes.chmod(path, mode)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o751)
        for name, mode in [(path, 0o1751), (self.root, 0o2770), (self.root, 0o1777)]:
            changes.chmod(name, mode)
            self.assertEqual(stat.S_IMODE(os.stat(name).st_mode), mode)
        os.chmod(path, 0o4755)
        changes.chmod(path, 0o4755)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o4755)
        self.assertRaises(NotImplementedError, changes.chmod, self.path("link"), 0o600, follow_symlinks=False)

    def test_an_owner_that_a_file_has_needs_no_call(self):
        path = self.write("file")
        found = os.stat(path)
        changes.chown(path, found.st_uid, -1)
        changes.chown(path, -1, found.st_gid)
        self.assertEqual(files.OWNERS, [])
        changes.chown(path, found.st_uid + 1, -1)
        self.assertEqual(files.OWNERS, [(path, found.st_uid + 1, None)])

    def test_new_files_and_directories_have_their_modes(self):
        for mask in (0o022, 0o077, 0):
            identity.umask(mask)
            for mode in (0o777, 0o700, 0o666, 0o600, 0o640):
                name = "%o-%o" % (mask, mode)
                changes.mkdir(self.path("d" + name), mode)
                self.assertEqual(stat.S_IMODE(os.stat(self.path("d" + name)).st_mode), mode & ~mask)
                os.close(opening.open_descriptor(self.path("f" + name), os.O_CREAT | os.O_WRONLY, mode))
                self.assertEqual(stat.S_IMODE(os.stat(self.path("f" + name)).st_mode), mode & ~mask)

    def test_special_bits_of_new_files_and_directories_are_those_of_linux(self):
        os.mkdir(self.path("group"))
        os.chmod(self.path("group"), 0o2775)
        for mask in (0o022, 0):
            for mode in (0o1777, 0o2775, 0o4755):
                for folder in (self.root, self.path("group")):
                    ours, theirs = (os.path.join(folder, "%s-%o-%o" % (side, mask, mode)) for side in ("ours", "theirs"))
                    identity.umask(mask)
                    changes.mkdir(ours, mode)
                    os.umask(mask)
                    os.mkdir(theirs, mode)
                    self.assertEqual(oct(os.stat(ours).st_mode), oct(os.stat(theirs).st_mode), ours)
        path = self.path("set-id")
        self.assertRaises(PermissionError, opening.open_descriptor, path, os.O_CREAT | os.O_WRONLY, 0o4755)
        self.assertFalse(os.path.exists(path), "refused before anything is made")

    def test_times_are_set_as_by_cpython(self):
        paths_of = self.write("ours"), self.write("theirs")
        os.symlink("ours", self.path("link"))
        for named in ({"times": (0, 1)}, {"times": (-1.5, -2.25)}, {"times": (1.9999999999, 0.1)}, {"ns": (-1, 1)},
                      {"times": (-0.0000000001, -3)}, {"ns": (10 ** 18 + 1, -10 ** 9)}):
            for path, utime in zip(paths_of, (changes.utime, os.utime)):
                utime(path, **named)
            found = attributes.stat(paths_of[0])
            expected = os.stat(paths_of[1])
            for field in ("st_atime", "st_mtime", "st_atime_ns", "st_mtime_ns"):
                self.assertEqual(getattr(found, field), getattr(expected, field), (named, field))
            self.assertEqual(found[7:9], expected[7:9])
        changes.utime(self.path("link"), (5, 6), follow_symlinks=False)
        self.assertEqual(os.lstat(self.path("link")).st_mtime, 6)
        changes.utime(paths_of[0])
        self.assertLess(abs(os.stat(paths_of[0]).st_mtime - time.time()), 60)
        self.assertRaises(ValueError, changes.utime, paths_of[0], (1, 2), ns=(1, 2))
        self.assertRaises(TypeError, changes.utime, paths_of[0], [1, 2])

    def test_access_is_that_of_the_host(self):
        os.symlink("none", self.path("broken"))
        path = self.write("file", mode=0o640)
        for name in (path, self.path("broken"), self.path("none"), self.root, path + "/"):
            for mode in (os.F_OK, os.R_OK, os.W_OK, os.X_OK, os.R_OK | os.X_OK):
                for follow in (True, False):
                    self.assertEqual(access.access(name, mode, follow_symlinks=follow),
                                     os.access(name, mode, follow_symlinks=follow), (name, mode, follow))
        self.assertRaises(ValueError, access.access, "a\0b", os.F_OK)

    def test_a_file_that_exists_keeps_its_mode(self):
        path = self.write("file", mode=0o604)
        os.close(opening.open_descriptor(path, os.O_CREAT | os.O_WRONLY, 0o600))
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o604)

    def test_open_files_are_found_after_a_rename_and_not_after_a_replacement(self):
        path = self.write("d/file", mode=0o640)
        with opening.open_file(path) as file:
            changes.rename(self.path("d"), self.path("e"))
            changes.fchmod(file.fileno(), 0o644)
            self.assertEqual(stat.S_IMODE(os.stat(self.path("e/file")).st_mode), 0o644)
            os.unlink(self.path("e/file"))
            self.write("e/file")
            with self.assertRaises(OSError) as raised:
                open_files.fstat(file.fileno())
            self.assertEqual(raised.exception.errno, errno.ESTALE)

    def test_attributes_of_an_unknown_descriptor_are_an_error(self):
        descriptor = os.open(self.root, os.O_RDONLY)
        self.addCleanup(os.close, descriptor)
        open_files.forget(descriptor)
        self.assertRaises(OSError, open_files.fstat, descriptor)

    def test_links_are_read_as_cpython_reads_them(self):
        os.symlink("/to", self.path("link"))
        for path in (self.path("link"), os.fsencode(self.path("link"))):
            self.assertEqual(changes.readlink(path), os.readlink(path))
        with self.assertRaises(OSError) as raised:
            changes.readlink(self.write("file"))
        self.assertEqual(raised.exception.errno, errno.EINVAL)

    def test_calls_relative_to_an_open_directory_are_refused(self):
        for function in (changes.mkdir, changes.unlink, changes.rmdir, changes.readlink):
            self.assertRaises(NotImplementedError, function, "x", dir_fd=3)


class Null(Granted):
    def test_what_is_written_to_the_null_device_is_nowhere(self):
        # The folder is that of this machine in tests.
        before, opening._NULLS = opening._NULLS, itertools.count(os.getpid() * 1000)
        self.addCleanup(setattr, opening, "_NULLS", before)
        for mode in ("r", "w", "a", "r+b"):
            with opening.open_file(os.devnull, mode) as null, opening.open_file("/dev/../dev/null") as other:
                self.assertFalse(stat.S_ISCHR(os.fstat(null.fileno()).st_mode), "not that of this machine")
                if mode != "r":
                    null.write(b"x" if "b" in mode else "x")
                self.assertEqual(other.read(), "")
        self.assertFalse([name for name in os.listdir("/tmp") if name.startswith(".null-%d" % os.getpid())])


class Identity(Granted):
    def test_a_fact_that_the_start_file_lacks_is_an_error(self):
        self.assertEqual(identity.getuid(), FACTS["uid"])
        identity.renew({})
        for function in (identity.getuid, identity.getgroups, identity.uname, identity.gethostname):
            self.assertRaises(Unsupported, function)
