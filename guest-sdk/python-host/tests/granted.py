"""A folder that a test grants, and the state of a run."""

import os
import shutil
import tempfile
import unittest

from wit_world.imports import file_changes, files, preopens, process

from modbox_python import commands, host, identity, paths

FACTS = {"uid": os.getuid(), "gid": os.getgid(), "groups": [], "parent": 1, "node": "n", "system": "Linux",
         "release": "1", "version": "#1", "machine": "x86_64"}


class Granted(unittest.TestCase):
    """A test in a run that has one granted folder, `self.root`."""

    def setUp(self):
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root, True)
        preopens.GRANTED[:] = [self.root]
        del files.OWNERS[:], file_changes.LOST[:], file_changes.REPLACED[:], process.ASKED[:], process.ANSWER[:]
        before = os.umask(files.UMASK)
        self.addCleanup(os.umask, before)
        host.go_live()
        self.addCleanup(setattr, host, "_LIVE", False)
        paths.renew()
        identity.renew(FACTS)
        commands.renew()

    def path(self, *names):
        """Returns a path in the folder."""
        return os.path.join(self.root, *names)

    def write(self, name, text="", mode=0o644):
        """Writes a file, and returns its path."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path
