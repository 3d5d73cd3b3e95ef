"""The build: what is laid out for componentize-py, and what happens when it fails."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

import build


class Build(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = work.name
        self.write("ansible/release.py", "__version__ = '2.19.1'\n")
        for name in ("__init__.py", "basic.py", "powershell/x.psm1", "__pycache__/basic.pyc"):
            self.write("ansible/module_utils/" + name, "")
        self.write("wit/host/files.wit", "package a:b;\n")
        self.out = os.path.join(self.work, "out.wasm")

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def main(self, componentize, *more):
        """Runs the build, and returns its message for a failure."""
        program = self.write("componentize", "#!/bin/sh\n" + componentize, 0o755)
        argv = ["build.py", "--ansible", os.path.join(self.work, "ansible"), "--wit", os.path.join(self.work, "wit"),
                "--out", self.out, "--componentize", program, *more]
        with mock.patch.object(sys, "argv", argv), contextlib.redirect_stdout(io.StringIO()):
            try:
                build.main()
            except SystemExit as ended:
                return ended.code
        return None

    def test_only_what_modules_import_is_laid_out(self):
        folder = os.path.join(self.work, "sources")
        os.mkdir(folder)
        self.assertEqual(build.lay_out(os.path.join(self.work, "ansible"), folder), "2.19.1")
        found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
        self.assertEqual(sorted(os.path.relpath(path, folder) for path in found), [
            "ansible/__init__.py", "ansible/module_utils/__init__.py", "ansible/module_utils/basic.py",
            "ansible/modules/__init__.py", "ansible/release.py", "modbox_layout.py"])

    def test_utilities_of_collections_are_laid_out_too(self):
        for name in ("plugins/module_utils/a/b.py", "plugins/modules/c.py", "tests/d.py"):
            self.write("general/" + name, "")
        folder = os.path.join(self.work, "sources")
        os.mkdir(folder)
        general = os.path.join(self.work, "general")
        build.lay_out(os.path.join(self.work, "ansible"), folder, [("community.general", general)])
        own = "ansible_collections/community/general/plugins/module_utils"
        found = [os.path.join(at, name) for at, _, names in os.walk(os.path.join(folder, own)) for name in names]
        self.assertEqual([os.path.relpath(path, folder) for path in found], [own + "/a/b.py"])
        with open(os.path.join(folder, "modbox_layout.py"), encoding="utf-8") as file:
            self.assertIn(repr({own: general + "/plugins/module_utils"}), file.read())
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(self.main("exit 0", "--collection", "../x=/"), 2)
        self.assertIn("failed to build", self.main("exit 0", "--collection", "a.b=" + self.work))

    def test_the_controller_is_laid_out_with_its_packages_and_the_worker(self):
        for name in ("__init__.py", "plugins/loader.py", "config/base.yml", "modules/__init__.py", "modules/ping.py", "galaxy/x.py"):
            self.write("site/ansible/" + name, "")
        self.write("site/ansible/release.py", "__version__ = '2.19.1'\n")
        for name in ("yaml/__init__.py", "yaml/_yaml.so", "pyyaml-6.0.3.dist-info/METADATA"):
            self.write("site/" + name, "")
        site, folder = os.path.join(self.work, "site"), os.path.join(self.work, "sources")
        os.mkdir(folder)
        yaml = os.path.join(site, "yaml")
        self.assertEqual(build.lay_out_controller(os.path.join(site, "ansible"), folder, [("yaml", yaml)]), "2.19.1")
        found = [os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names]
        self.assertEqual(sorted(found), [
            "ansible/__init__.py", "ansible/config/base.yml", "ansible/modules/__init__.py", "ansible/plugins/loader.py",
            "ansible/release.py", "modbox_layout.py", "modbox_worker.py", "yaml/__init__.py"])
        with open(os.path.join(folder, "modbox_layout.py"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("'yaml': %r" % yaml, text)
        self.assertIn("'yaml': '6.0.3'", text)
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(self.main("exit 0", "--plugins", "--package", "../x=/"), 2)
        self.assertIn("failed to build", self.main("exit 0", "--plugins", "--package", "yaml=" + self.work + "/none"))

    def test_a_failure_leaves_no_file_and_says_why(self):
        self.assertIn("no module named x", self.main("echo 'no module named x' >&2; exit 1"))
        self.assertIn("failed to build", self.main("exit 0"))
        self.assertFalse(os.path.exists(self.out))
        self.assertIn("failed to build", self.main("exit 0").replace("componentize-py failed", ""))

    def test_a_success_writes_the_component_and_nothing_beside_it(self):
        script = 'while [ "$1" != -o ]; do shift; done; echo "$VIRTUAL_ENV" > "$2"'
        self.assertIsNone(self.main(script))
        with open(self.out, encoding="utf-8") as file:
            self.assertTrue(file.read().strip().endswith("empty"))
        self.assertEqual([name for name in os.listdir(self.work) if "unfinished" in name], [])

    def test_componentize_may_be_a_package_in_a_folder(self):
        self.write("packages/componentize_py/__init__.py",
                   "import sys\ndef script():\n    open(sys.argv[sys.argv.index('-o') + 1], 'w').close()\n")
        self.assertIsNone(self.main("exit 1", "--componentize-package", os.path.join(self.work, "packages")))
        self.assertTrue(os.path.isfile(self.out))

    def test_a_folder_that_is_not_ansible_core_is_refused(self):
        self.write("ansible/release.py", "")
        self.assertIn("release", self.main("exit 0"))
        os.unlink(os.path.join(self.work, "ansible/release.py"))
        self.assertIn("release", self.main("exit 0"))
