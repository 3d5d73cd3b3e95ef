"""Imports from memory, and the preloading of `module_utils`."""

import importlib
import linecache
import marshal
import os
import runpy
import sys
import tempfile
import traceback
import types
import unittest

from modbox_python import preload, store


# What the build changes in it.
BASIC = "class AnsibleModule:\n    def atomic_move(self, src, dest):\n        pass\n"


class Stored(unittest.TestCase):
    def setUp(self):
        self.store = store.Store()
        before = sys.meta_path[:], linecache.updatecache, set(sys.modules), sys.argv[:]
        store.install(self.store)

        def restore():
            sys.meta_path[:], linecache.updatecache, names, sys.argv[:] = before
            for name in set(sys.modules) - names:
                del sys.modules[name]

        self.addCleanup(restore)

    def add(self, name, text, is_package=False, filename=None):
        filename = filename or "/shown/%s.py" % name
        code = compile(text, filename, "exec")
        self.store.add(name, marshal.dumps(code), is_package, filename)

    def test_modules_and_packages_are_imported_without_a_look_at_folders(self):
        self.add("stored_one", "", True)
        self.add("stored_one.inner", "from . import other\nvalue = other.value + 1\n")
        self.add("stored_one.other", "value = 1\n")
        import stored_one.inner
        self.assertEqual(stored_one.inner.value, 2)
        self.assertEqual(stored_one.__path__, [])
        self.assertEqual(stored_one.inner.__file__, "/shown/stored_one.inner.py")
        with self.assertRaises(ImportError):
            import stored_one.missing

    def test_modules_are_packed_and_unpacked(self):
        self.add("stored_packed", "value = 4\n")
        self.store.add("stored_source", b"value = 5\n", False, "/shown/source.py", is_source=True)
        self.store.add("stored_wrong", b"def\n", False, "/shown/wrong.py", is_source=True)
        names = ["stored_packed", "stored_source", "stored_wrong"]
        packed = self.store.pack(names)
        self.store._modules.clear()
        self.store.unpack(packed)
        self.assertEqual([self.store._modules[name].is_source for name in names], [False, False, True])
        import stored_packed
        import stored_source
        self.assertEqual((stored_packed.value, stored_source.value), (4, 5))
        with self.assertRaises(SyntaxError) as raised:
            importlib.import_module("stored_wrong")
        self.assertEqual(raised.exception.filename, "/shown/wrong.py")

    def test_missing_packages_are_added(self):
        self.add("stored_two.plugins.leaf", "value = 3\n")
        import stored_two.plugins.leaf
        self.assertEqual(stored_two.plugins.leaf.value, 3)

    def test_a_module_runs_as_the_main_program(self):
        self.add("stored_main", "name = __name__\nfile = __file__\n")
        found = runpy.run_module("stored_main", run_name="__main__", alter_sys=True)
        self.assertEqual((found["name"], found["file"]), ("__main__", "/shown/stored_main.py"))

    def test_tracebacks_name_the_file_and_do_not_look_for_it(self):
        self.add("stored_bad", "def fail():\n    raise ValueError('x')\n")
        import stored_bad
        opened = []
        sys.addaudithook(lambda event, found: opened.append(found[0]) if event == "open" else None)
        try:
            stored_bad.fail()
        except ValueError:
            text = traceback.format_exc()
        self.assertIn('File "/shown/stored_bad.py", line 2, in fail', text)
        self.assertNotIn("/shown/stored_bad.py", opened)


class Preload(Stored):
    def lay_out(self, files):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        files = {"__init__": "", "module_utils/__init__": "", **files}
        for name, text in files.items():
            folder = "" if name.startswith("ansible_collections") else "ansible"
            path = os.path.join(work.name, folder, name + ".py")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        own = {"ansible_collections/a/b/plugins/module_utils": "/user/a.b"}
        collections = own if os.path.isdir(os.path.join(work.name, *own)) else {}
        return types.SimpleNamespace(FOLDER=work.name, SHOWN="/user/ansible", COLLECTIONS=collections)

    def test_all_is_imported_and_what_fails_is_named(self):
        layout = self.lay_out({"module_utils/basic": BASIC, "module_utils/bad": "import no_such_module\n",
                               "module_utils/wrong": "def\n"})
        failed = preload.module_utils(self.store, layout)
        self.assertEqual(list(failed), ["ansible.module_utils.bad"])
        self.assertEqual(sys.modules["ansible.module_utils.basic"].__file__, "/user/ansible/module_utils/basic.py")
        # Stored, so that its own error appears when a module imports it.
        self.assertIn("ansible.module_utils.bad", self.store)

    def test_folders_of_collections_are_packages(self):
        own = "ansible_collections/a/b/plugins/module_utils/"
        layout = self.lay_out({"module_utils/basic": BASIC, own + "deep/one": "from ..two import value\n",
                               own + "two": "value = 2\n"})
        self.assertEqual(preload.module_utils(self.store, layout), {})
        module = sys.modules[own.replace("/", ".") + "deep.one"]
        self.assertEqual((module.value, module.__file__), (2, "/user/a.b/deep/one.py"))

    def test_basic_must_be_imported(self):
        for files in ({}, {"module_utils/basic": "import no_such_module\n"},
                      {"module_utils/basic": "", "module_utils/_internal/__init__": "",
                       "module_utils/_internal/_ansiballz/__init__": "",
                       "module_utils/_internal/_ansiballz/_loader": "raise RuntimeError('x')\n"}):
            for name in [name for name in sys.modules if name.startswith("ansible")]:
                del sys.modules[name]
            self.store._modules.clear()
            with self.assertRaisesRegex(ImportError, "failed to preload"):
                preload.module_utils(self.store, self.lay_out(files))
