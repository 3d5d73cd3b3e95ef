"""The controller half: what stands in for the machine while it is imported."""

import os
import tempfile
import unittest

from modbox_python import controller


class Controller(unittest.TestCase):
    def test_files_are_found_where_they_are_while_the_component_is_built(self):
        with tempfile.TemporaryDirectory() as work:
            with open(os.path.join(work, "base.yml"), "w", encoding="utf-8") as file:
                file.write("a: 1\n")
            opened = controller._redirected(open, {"/usr/lib/ansible": work})
            for path in ("/usr/lib/ansible/base.yml", b"/usr/lib/ansible/base.yml"):
                with opened(path, encoding="utf-8") as file:
                    self.assertEqual(file.read(), "a: 1\n")
            # A name that only begins alike is another file.
            self.assertRaises(FileNotFoundError, opened, "/usr/lib/ansible_other/base.yml")

    def test_stand_ins_are_put_back(self):
        before = os.getuid
        with controller._replaced((os, "getuid", lambda: 7)):
            self.assertEqual(os.getuid(), 7)
        self.assertIs(os.getuid, before)

    def test_texts_have_the_width_of_the_c_library(self):
        libc = controller._Libc()
        self.assertEqual([libc.wcwidth(text) for text in ("a", "\u4e2d", "\u0301", "\n")], [1, 2, 0, -1])
        self.assertEqual((libc.wcswidth("a\u4e2d", 9), libc.wcswidth("a\n", 9), libc.wcswidth("ab", 1)), (3, -1, 1))

    def test_only_what_plugins_import_is_imported(self):
        for name, wanted in (("ansible.template", True), ("ansible.plugins.filter.core", True), ("ansible.cli.doc", False),
                             ("ansible.plugins.action.copy", False), ("ansible.module_utils.basic", True)):
            self.assertEqual(controller._is_wanted(name), wanted, name)
