"""`AnsibleModule.atomic_move`, by a class that moves like Ansible's."""

import os
from unittest import mock

from wit_world.imports import file_changes, files

from modbox_python import moving
from tests.granted import Granted


class Module:
    """What of `AnsibleModule` takes part."""

    def __init__(self):
        self.warnings = []

    def warn(self, text):
        """Adds a warning."""
        self.warnings.append(text)

    def atomic_move(self, src, dest, unsafe_writes=False, keep_dest_attrs=True):
        """Moves a file, as Ansible does: the owner is that of the old file, and only then the mode."""
        del unsafe_writes
        if os.path.exists(dest) and keep_dest_attrs:
            moving.chown(src, os.stat(dest).st_uid + 1, -1)
            moving.chmod(src, os.stat(dest).st_mode & 0o7777)
        moving.rename(src, dest)


moving.install(Module)


class Moving(Granted):
    def setUp(self):
        super().setUp()
        self.src, self.dest = self.write("src", "new"), self.path("dest")
        self.module = Module()

    def move(self, **named):
        """Moves the file, and returns the calls of `replace`."""
        self.module.atomic_move(self.src, self.dest, **named)
        with open(self.dest, encoding="utf-8") as file:
            self.assertEqual(file.read(), "new")
        return file_changes.REPLACED

    def test_a_file_is_replaced_by_the_host_which_gives_it_the_owner(self):
        self.write("dest", "old")
        self.assertEqual(self.move(), [(self.src, self.dest)])
        self.assertEqual((files.OWNERS, self.module.warnings), ([], []))

    def test_what_is_lost_is_a_warning(self):
        self.write("dest", "old")
        file_changes.LOST[:] = [file_changes.Lost.SET_ID, file_changes.Lost.OWNER]
        self.move()
        self.assertEqual([text.split(" of ")[0] for text in self.module.warnings],
                         ["the owner", "the set-user-id and set-group-id bits"])
        self.assertIn("`%s` could not be kept" % self.dest, self.module.warnings[0])

    def test_the_host_gives_set_id_bits_or_says_that_it_does_not(self):
        self.write("dest", "old", 0o4751)
        file_changes.LOST[:] = [file_changes.Lost.SET_ID]
        self.move()
        self.assertEqual(os.stat(self.dest).st_mode & 0o7777, 0o751)
        self.assertEqual(len(self.module.warnings), 1)
        self.assertRaises(PermissionError, moving.chmod, self.dest, 0o4751)

    def test_other_moves_are_ansibles_own(self):
        self.assertEqual(self.move(), [])
        self.src = self.write("src", "new")
        self.assertEqual(self.move(keep_dest_attrs=False), [])

    def test_the_owner_behind_a_link_is_given_or_missed(self):
        os.symlink(self.write("target", "old", 0o604), self.dest)
        refuse = mock.patch.object(moving, "_chown", mock.Mock(side_effect=PermissionError(1, "refused")))
        with refuse:
            self.assertEqual(self.move(), [(self.src, self.dest)])
        self.assertEqual(os.stat(self.dest).st_mode & 0o777, 0o604)
        self.assertEqual(len(self.module.warnings), 1)

    def test_an_error_ends_the_replacement(self):
        self.write("dest", "old")
        os.unlink(self.src)
        with self.assertRaises(FileNotFoundError):
            self.module.atomic_move(self.src, self.dest)
        self.assertIsNone(moving._replacement)
        moving.rename(self.dest, self.src)
        self.assertEqual(file_changes.REPLACED, [])
