"""Imports everything that modules need, while the interpreter is built.

The standard library is stored as code, and its often used modules are imported. All of `ansible.module_utils` is stored
and imported, and that of the chosen collections, from the folder that `build.py` laid out. A module of them that cannot be imported stays stored, so that its
error appears when a module of Ansible imports it. Only what every module needs must be importable.
"""

import importlib
import marshal
import os
import subprocess
import sys

from modbox_python import moving

# Parts of the standard library that a module of Ansible has no use for: programs, tests, windows. A stand-in replaces
# `ctypes`.
_LEFT_OUT = {
    "antigravity", "ctypes", "curses", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages", "test", "this",
    "tkinter", "turtle", "turtledemo", "venv", "config-3.14-wasm32-wasi", "_pyrepl", "lib-dynload",
}

# Modules of the standard library that modules of Ansible import often.
_IMPORTED = """
    abc argparse array ast atexit base64 binascii bisect calendar codecs collections collections.abc configparser
    concurrent.futures contextlib copy csv ctypes dataclasses datetime decimal difflib email.message email.parser
    email.utils errno fileinput filecmp fnmatch functools getpass gettext glob gzip hashlib heapq hmac html http.client
    http.cookiejar importlib.metadata importlib.util inspect io ipaddress itertools json keyword linecache locale
    logging math mimetypes multiprocessing multiprocessing.dummy multiprocessing.pool netrc numbers operator optparse
    os pathlib pickle pkgutil platform plistlib pprint pty queue random re runpy secrets select selectors shlex shutil
    signal socket sqlite3 ssl stat string stringprep struct subprocess tarfile tempfile textwrap threading time
    tokenize traceback types typing unicodedata urllib.error urllib.parse urllib.request uuid warnings weakref
    xml.dom.minidom xml.etree.ElementTree zipfile zlib encodings.idna encodings.latin_1 encodings.ascii
    encodings.utf_16 encodings.cp437 fcntl grp mmap pwd resource syslog termios
""".split()

# Modules of the standard library that can be imported and cannot be used: they serve others.
_UNUSABLE = {"asyncio", "socketserver"}

# Modules that lack names which they have on Linux.
_PARTIAL = """
    concurrent.futures ctypes fcntl grp mmap multiprocessing multiprocessing.pool os pty pwd resource select signal
    socket syslog termios threading time
""".split()

# Names that can be found and cannot be used, or not by every module that uses them.
_UNUSABLE_NAMES = {
    ("concurrent.futures", "InterpreterPoolExecutor"), ("concurrent.futures", "ProcessPoolExecutor"),
    ("multiprocessing", "get_context"), ("multiprocessing.pool", "Pool"), ("pty", "fork"), ("pty", "openpty"),
    ("pty", "spawn"), ("threading", "Thread"), ("threading", "Timer"),
}

# What a run cannot begin without; since ansible-core 2.19 there is a loader, too.
REQUIRED = ("ansible.module_utils.basic",)
LOADER = "ansible.module_utils._internal._ansiballz._loader"


def store_folder(store, folder, package, shown, left_out=(), of_collection=False):
    """Stores the code of all sources below a folder. `shown` is the folder's path in tracebacks.

    Each folder of a collection is a package; others have a file `__init__.py`.
    """
    for entry in sorted(os.listdir(folder)):
        path, name = os.path.join(folder, entry), entry.removesuffix(".py")
        if entry in left_out or name in left_out or entry == "__pycache__":
            continue
        full = "%s.%s" % (package, name) if package else name
        if entry.endswith(".py"):
            if name == "__init__":
                _store_file(store, path, package, True, os.path.join(shown, entry))
            else:
                _store_file(store, path, full, False, os.path.join(shown, entry))
        elif os.path.isdir(path) and (of_collection or os.path.isfile(os.path.join(path, "__init__.py"))):
            store_folder(store, path, full, os.path.join(shown, entry), left_out, of_collection)


def _store_file(store, path, name, is_package, shown):
    with open(path, "rb") as file:
        source = file.read()
    try:
        code = compile(source, shown, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        # Importing it is an error, as with its file.
        return
    store.add(name, marshal.dumps(code), is_package, shown)


def import_all(names):
    """Imports modules, and returns the errors of those that could not be imported."""
    failed = {}
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            failed[name] = "%s: %s" % (type(error).__name__, error)
    return failed


def _said():
    """Returns the lists, or since ansible-core 2.19 the dicts, of the warnings and deprecations of the process."""
    warnings = sys.modules.get("ansible.module_utils.common.warnings")
    return [getattr(warnings, name, []) for name in ("_global_warnings", "_global_deprecations")]


def import_silent(names):
    """Imports the modules that say nothing while they are imported, and returns the errors of those that cannot be.

    What a module says then, such as that it is deprecated, would be in the result of each run. So it stays stored, with
    what it has imported, and says it in the runs that import it.
    """
    failed = {}
    for name in names:
        before, said = set(sys.modules), [list(messages) for messages in _said()]
        failed.update(import_all([name]))
        if [list(messages) for messages in _said()] == said:
            continue
        for imported in set(sys.modules) - before:
            if imported in names:
                del sys.modules[imported]
                package, _, last = imported.rpartition(".")
                # `from package import last` would find it there.
                if package in sys.modules:
                    vars(sys.modules[package]).pop(last, None)
        for messages, kept in zip(_said(), said):
            if isinstance(messages, list):
                messages[:] = kept
            else:
                for new in set(messages) - set(kept):
                    del messages[new]
    return failed


def standard_library(store):
    """Stores the standard library, and imports its often used modules."""
    # `os` itself is frozen into CPython, and names another folder.
    folder = os.path.dirname(subprocess.__file__)
    store_folder(store, folder, "", folder, _LEFT_OUT)
    return import_all(_IMPORTED)


def usable(store):
    """Returns the top-level modules that can be imported, and the usable names of those that lack some.

    It imports all of them, so it is for a run that does nothing else.
    """
    stored = {name.partition(".")[0] for name in store.names()}
    # Those of the interpreter itself are there. A private one may end the interpreter when it is imported twice.
    failed = import_all(sorted(name for name in stored if not name.startswith("_") and name not in sys.modules))
    names = {*stored, *sys.modules, *sys.builtin_module_names}
    modules = sorted(name for name in names if "." not in name and name not in failed and name not in _UNUSABLE)
    return {"modules": modules, "names": {name: _usable_names(sys.modules[name]) for name in _PARTIAL}}


def _usable_names(module):
    of = module.__name__
    return [name for name in dir(module)
            if (of, name) not in _UNUSABLE_NAMES and "is_refused" not in getattr(getattr(module, name), "__dict__", {})]


def module_utils(store, layout):
    """Stores and imports `module_utils`. Raises if a module that every run needs is not importable."""
    before = set(store.names())
    store_folder(store, os.path.join(layout.FOLDER, "ansible"), "ansible", layout.SHOWN)
    for folder, shown in layout.COLLECTIONS.items():
        store_folder(store, os.path.join(layout.FOLDER, folder), folder.replace("/", "."), shown, of_collection=True)
    required = [*REQUIRED, LOADER] if LOADER in store else REQUIRED
    failed = import_all(required)
    failed.update(import_silent([name for name in store.names() if name not in before and name not in sys.modules]))
    for name in required:
        if name in failed or name not in sys.modules:
            raise ImportError("failed to preload `%s`: %s" % (name, failed.get(name, "it is not in the folder")))
    moving.install(sys.modules["ansible.module_utils.basic"].AnsibleModule)
    return failed
