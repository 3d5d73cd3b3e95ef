"""Imports from memory: the code of the standard library, of Ansible's `module_utils` and of the module that runs.

The files that the interpreter was built from are not there when a module runs. `Store` has their code, by the names of
modules, and stands before CPython's search of folders. So an import touches no file. Packages have an empty `__path__`
for the same reason: a folder in it would be searched, and each look would be reported as a denial.
"""

import importlib.machinery
import linecache
import marshal
import sys
from typing import NamedTuple


class Stored(NamedTuple):
    """The code of a module, marshalled, or its source, which is compiled when the module is imported."""

    code: bytes
    is_package: bool
    filename: str
    is_source: bool


class Store:
    """An importer and loader of stored modules."""

    def __init__(self):
        self._modules, self._files = {}, set()

    def __contains__(self, name):
        return name in self._modules

    def add(self, name, code, is_package, filename, is_source=False):
        """Adds a module. Its packages are added, too, if the store lacks them."""
        self._modules[name] = Stored(code, is_package, filename, is_source)
        self._files.add(filename)
        package = name.rpartition(".")[0]
        while package and package not in self._modules and package not in sys.modules:
            self._modules[package] = Stored(b"", True, "<package>", True)
            package = package.rpartition(".")[0]

    def names(self):
        """Returns the names of all modules."""
        return list(self._modules)

    def find_spec(self, name, path=None, target=None):
        """Returns the specification of a stored module."""
        del path, target
        stored = self._modules.get(name)
        if stored is None:
            return None
        spec = importlib.machinery.ModuleSpec(name, self, origin=stored.filename, is_package=stored.is_package)
        # Sets `__file__` to the file that the code was made from.
        spec.has_location = not stored.filename.startswith("<")
        return spec

    def create_module(self, spec):
        """Lets CPython make the module."""
        del spec

    def exec_module(self, module):
        """Runs a module's code."""
        exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name):
        """Returns the code of a module."""
        stored = self._modules.get(name)
        if stored is None:
            raise ImportError("no module named %r is stored" % name, name=name)
        if stored.is_source:
            return compile(stored.code, stored.filename, "exec", dont_inherit=True)
        return marshal.loads(stored.code)

    def pack(self, names):
        """Returns the code of some modules, for `unpack` in a later run. What cannot be compiled stays a source."""
        packed = []
        for name in names:
            stored = self._modules[name]
            try:
                stored = stored._replace(code=marshal.dumps(self.get_code(name)), is_source=False)
            except (SyntaxError, ValueError):
                pass
            packed.append((name, *stored))
        return marshal.dumps(packed)

    def unpack(self, packed):
        """Adds modules that were packed by an interpreter of the same build."""
        for module in marshal.loads(packed):
            self.add(*module)

    def get_source(self, name):
        """Returns that sources are not stored."""
        del name

    def is_package(self, name):
        """Returns whether a stored module is a package."""
        return name in self._modules and self._modules[name].is_package

    def get_filename(self, name):
        """Returns the file that a module's code was made from."""
        if name not in self._modules:
            raise ImportError("no module named %r is stored" % name, name=name)
        return self._modules[name].filename

    def has_file(self, filename):
        """Returns whether a file is the source of a stored module, or of one that was imported before the run."""
        return filename in self._files

    def add_imported(self):
        """Adds the names of the files of all imported modules, and returns all names."""
        self._files.update(filter(None, [getattr(module, "__file__", None) for module in list(sys.modules.values())]))
        return self._files


def install(store):
    """Puts a store before the search of folders, and keeps tracebacks from looking for its sources."""
    finders = [at for at, finder in enumerate(sys.meta_path) if finder is importlib.machinery.PathFinder]
    sys.meta_path.insert(finders[0] if finders else len(sys.meta_path), store)
    update = linecache.updatecache

    def updatecache(filename, module_globals=None):
        return [] if store.has_file(filename) else update(filename, module_globals)

    linecache.updatecache = updatecache


def forget_folders():
    """Forgets the folders that modules were imported from when the interpreter was built."""
    sys.path[:] = []
    sys.path_importer_cache.clear()
    for module in list(sys.modules.values()):
        if getattr(module, "__path__", None) is not None:
            module.__path__ = []
        spec = getattr(module, "__spec__", None)
        if spec is not None and spec.submodule_search_locations is not None:
            spec.submodule_search_locations = []
