"""The build of the interpreter imports modules, and their warnings stay out of the snapshot."""

import importlib
import os
import sys
import types
import unittest

from modbox_python import preload
from tests.granted import Granted

WARNINGS = "ansible.module_utils.common.warnings"


class Preload(Granted):
    def setUp(self):
        super().setUp()
        self.said = types.ModuleType(WARNINGS)
        self.said._global_warnings, self.said._global_deprecations = [], ["of basic"]
        before, path = dict(sys.modules), list(sys.path)
        self.addCleanup(lambda: (sys.modules.clear(), sys.modules.update(before), sys.path.__setitem__(slice(None), path)))
        sys.modules[WARNINGS] = self.said
        sys.path.insert(0, self.root)

    def package(self, **modules):
        """Writes a package of modules, and returns their names."""
        os.mkdir(self.path("utils"))
        for name, text in {"__init__": "", **modules}.items():
            self.write("utils/%s.py" % name, text)
        importlib.invalidate_caches()
        return ["utils", *("utils.%s" % name for name in sorted(modules))]

    def test_a_module_that_says_something_is_imported_by_runs_only(self):
        says = "import sys\nsys.modules[%r]._global_deprecations.append({'msg': 'old'})\n" % WARNINGS
        names = self.package(a="from utils import old", b="", old=says)
        self.assertEqual(preload.import_silent(names), {})
        self.assertEqual(self.said._global_deprecations, ["of basic"])
        self.assertTrue({"utils", "utils.b"} <= set(sys.modules))
        self.assertFalse({"utils.a", "utils.old"} & set(sys.modules))
        importlib.import_module("utils.a")
        self.assertEqual(self.said._global_deprecations, ["of basic", {"msg": "old"}])

    def test_messages_of_later_releases_are_keys(self):
        self.said._global_warnings = {"kept": None}
        says = "import sys\nsys.modules[%r]._global_warnings['new'] = None\n" % WARNINGS
        preload.import_silent(self.package(old=says))
        self.assertEqual(self.said._global_warnings, {"kept": None})
        self.assertNotIn("utils.old", sys.modules)

    def test_errors_are_told(self):
        failed = preload.import_silent(self.package(wrong="import no_such_module"))
        self.assertEqual(list(failed), ["utils.wrong"])
        self.assertIn("ModuleNotFoundError", failed["utils.wrong"])
