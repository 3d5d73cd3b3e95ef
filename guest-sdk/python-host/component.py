"""The component: what the interpreter imports before it is frozen, and the class that is called in each run.

componentize-py imports this file, and stores the memory of the interpreter as it is then.
"""

import os
import subprocess  # While the platform is still WASI: on Linux it needs `_posixsubprocess`.
import sys

# The replacements of standard modules come first.
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "standins"))

# So do those of functions: what is imported later may keep one, as `tempfile` keeps `os.unlink`.
from modbox_python import system  # noqa: E402

_exit = os._exit
system.install()

import modbox_layout  # noqa: E402  `build.py` writes it.
from modbox_python import commands, paths, preload, start, store, threads  # noqa: E402

commands.install()
threads.install()
_store = store.Store()
_missing = preload.standard_library(_store)
system.install_for_modules()
store.install(_store)
_missing.update(preload.module_utils(_store, modbox_layout))
_about = {
    "python": sys.version.split()[0],
    "release": modbox_layout.RELEASE,
    "imported": len(sys.modules),
    "stored": len(_store.names()),
    "not_imported": _missing,
}
_files = _store.add_imported()
for _folder in (*sys.path, os.path.dirname(subprocess.__file__), modbox_layout.SHOWN,
                *modbox_layout.COLLECTIONS.values()):
    paths.hide(_files, _folder)
store.forget_folders()
start.freeze()


class Run:
    """Implements `wasi:cli/run`."""

    def run(self):
        """Runs one module, and ends with its exit status."""
        status = start.run(_store, _about)
        sys.stdout.flush()
        sys.stderr.flush()
        # Nothing is left to do, and taking the interpreter down would take longer than many modules run.
        _exit(status)
