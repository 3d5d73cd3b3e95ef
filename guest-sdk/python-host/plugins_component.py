"""The component of plugins: what it imports before it is frozen, and the class that is called in each worker.

As `component`, with ansible-core's controller half in place of what modules import. The two cannot be one component: the
controller changes `module_utils` when it is imported.
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
from modbox_python import commands, controller, paths, preload, start, store, threads  # noqa: E402

commands.install()
threads.install()
_store = store.Store()
_missing = preload.standard_library(_store)
system.install_for_modules()
store.install(_store)
_missing.update(controller.preload_controller(_store, modbox_layout))

from plugins import sandboxed  # noqa: E402  It imports ansible-core.

_about = {
    "python": sys.version.split()[0],
    "release": modbox_layout.RELEASE,
    "imported": len(sys.modules),
    "stored": len(_store.names()),
    "not_imported": _missing,
}
_files = _store.add_imported()
for _folder in (*sys.path, os.path.dirname(subprocess.__file__), *modbox_layout.PACKAGES.values()):
    paths.hide(_files, _folder)
store.forget_folders()
start.freeze()


class Run:
    """Implements `wasi:cli/run`."""

    def run(self):
        """Serves the host, and ends with an exit status."""
        status = sandboxed.run(_store, _about)
        sys.stdout.flush()
        sys.stderr.flush()
        _exit(status)
