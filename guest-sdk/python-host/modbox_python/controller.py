"""Imports ansible-core's controller half while the component of plugins is built, and renews it when a worker starts.

While it is imported it reads its settings, makes a temporary folder, and asks for the user, the terminal and a library of the
machine. None of that is there, so stand-ins answer meanwhile. What depends on the machine is made anew in each worker.
"""

import builtins
import contextlib
import ctypes
import importlib
import importlib.metadata
import io
import os
import posixpath
import pwd
import sys
import tempfile
import unicodedata

from modbox_python import preload

# Parts of ansible-core that plugins have no use for: programs, Ansible's modules, and plugins of other kinds. They can still be
# imported, but for modules and `galaxy`, which needs more packages.
_NOT_IMPORTED = ("ansible.cli", "ansible.executor", "ansible.inventory", "ansible.playbook", "ansible.plugins", "ansible.vars")

# Parts that are imported nevertheless.
_IMPORTED = ("ansible.plugins.filter", "ansible.plugins.test", "ansible.plugins.lookup", "ansible.plugins.loader")

# Since ansible-core 2.19, this one makes `module_utils` those of the controller, so it comes first.
_FIRST = "ansible._internal"

# What a worker cannot begin without.
_REQUIRED = (
    "jinja2", "yaml", "ansible.constants", "ansible.utils.display", "ansible.template",
    "ansible.plugins.loader", "ansible.plugins.filter.core", "ansible.parsing.dataloader",
)

# Types of settings whose values depend on the machine.
_OF_MACHINE = ("path", "pathlist", "pathspec", "tmp", "tmppath")


class _Libc:
    """The functions of the C library with which `Display` measures texts: those of Unicode."""

    @staticmethod
    def _width(character):
        if not character or unicodedata.combining(character):
            return 0
        if unicodedata.category(character) in ("Cc", "Cs"):
            return -1
        return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1

    def wcwidth(self, character):
        """Returns the columns of a character; -1 for one that is not shown."""
        return self._width(character)

    def wcswidth(self, text, count):
        """Returns the columns of a text; -1 if a character is not shown."""
        widths = [self._width(character) for character in text[:count]]
        return -1 if -1 in widths else sum(widths)


class _Function:
    """A function whose types can be set, as those of a library."""

    def __init__(self, function):
        self._function = function

    def __call__(self, *arguments):
        return self._function(*arguments)


def _library(name):
    del name
    functions = _Libc()
    functions.wcwidth, functions.wcswidth = _Function(functions.wcwidth), _Function(functions.wcswidth)
    return functions


@contextlib.contextmanager
def _replaced(*replacements):
    """Replaces attributes of modules, and puts them back."""
    before = [(module, name, getattr(module, name, None)) for module, name, _ in replacements]
    for module, name, value in replacements:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def _redirected(function, moved):
    """Returns a function on paths that finds the files of ansible-core where they are while the component is built."""

    def call(path=".", *arguments, **named):
        if isinstance(path, (str, bytes)):
            text = os.fsdecode(path)
            for at, place in moved.items():
                if text == at or text.startswith(at + "/"):
                    text = place + text[len(at):]
                    path = os.fsencode(text) if isinstance(path, bytes) else text
                    break
        return function(path, *arguments, **named)

    return call


def _stand_ins(moved):
    user = pwd.struct_passwd("root", "x", 0, 0, "", "/nonexistent", "/bin/sh")

    def made(suffix="", prefix="tmp", dir=None):
        return posixpath.join(dir or "/tmp", (prefix or "") + "built" + (suffix or ""))

    files = [(os, name, _redirected(getattr(os, name), moved))
             for name in ("stat", "lstat", "listdir", "scandir", "access", "open")]
    opened = _redirected(builtins.open, moved)
    numbers = [(os, name, lambda: 0) for name in ("getuid", "geteuid", "getgid", "getegid")]
    return [
        *files, *numbers, (builtins, "open", opened), (io, "open", opened), (os, "makedirs", lambda *_, **__: None),
        (os, "umask", lambda _: 0o022), (tempfile, "mkdtemp", made), (pwd, "getpwuid", lambda _: user),
        (pwd, "getpwnam", lambda _: user), (importlib.metadata, "version", _version),
    ]


_versions = {}


def _version(name):
    """Returns the version of a package, as the build has written it down."""
    found = _versions.get(name.lower().replace("_", "-"))
    if not found:
        raise importlib.metadata.PackageNotFoundError(name)
    return found


def preload_controller(store, layout):
    """Stores and imports the controller half. Raises if what every worker needs is not importable."""
    for name, shown in layout.PACKAGES.items():
        preload.store_folder(store, os.path.join(layout.FOLDER, name), name, shown)
    _versions.update(layout.VERSIONS)
    _versions.update({"ansible-core": layout.RELEASE, "pyyaml": layout.VERSIONS.get("yaml", "")})
    ctypes.c_wchar = type("c_wchar", (), {})
    ctypes.c_wchar_p = type("c_wchar_p", (), {})
    if not hasattr(ctypes, "ArgumentError"):
        ctypes.ArgumentError = type("ArgumentError", (Exception,), {})
    ctypes.cdll.LoadLibrary = _library
    names = [name for name in store.names() if name.startswith("ansible.") and _is_wanted(name)]
    moved = {shown: os.path.join(layout.FOLDER, name) for name, shown in layout.PACKAGES.items()}
    os.environ["HOME"] = "/nonexistent"
    with _replaced(*_stand_ins(moved)):
        required = [name for name in (_FIRST, *_REQUIRED) if name != _FIRST or _FIRST in store]
        failed = preload.import_all(required)
        for name in required:
            if name in failed or name not in sys.modules:
                raise ImportError("failed to preload `%s`: %s" % (name, failed.get(name, "it is not in the folder")))
        failed.update(preload.import_all([name for name in names if name not in sys.modules]))
        _warm_up()
    os.environ.clear()
    importlib.metadata.version = _version
    return failed


def _is_wanted(name):
    def is_below(prefixes):
        return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)

    return is_below(_IMPORTED) or not is_below(_NOT_IMPORTED)


def _warm_up():
    """Reads what ansible-core reads once in a process: the names of its own plugins, and where they have moved."""
    from ansible.plugins import loader
    from ansible.utils.collection_loader._collection_finder import _get_collection_metadata
    loader.init_plugin_loader()
    _get_collection_metadata("ansible.builtin")
    for kind in (loader.filter_loader, loader.test_loader):
        list(kind.all())


def renew():
    """Gives ansible-core the home, the temporary folder and the collections of this worker, from its environment."""
    import ansible.constants as constants
    from ansible.plugins import loader
    from ansible.utils.collection_loader import AnsibleCollectionConfig
    for name, definition in constants.config.get_configuration_definitions().items():
        if definition.get("type") in _OF_MACHINE:
            constants.set_constant(name, constants.config.get_config_value(name, variables=vars(constants)))
    type(AnsibleCollectionConfig.collection_finder)._remove()
    loader._configure_collection_loader()
    for name in ("ansible_collections", "ansible_collections.ansible"):
        AnsibleCollectionConfig.collection_finder._reload_hack(name)
