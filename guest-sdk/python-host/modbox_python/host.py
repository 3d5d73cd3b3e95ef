"""The host's functions, and whether they can be called.

The interpreter is frozen after it has imported everything. While that happens the host is not there, and a call to it
would end the build. So every replacement of a standard function asks `is_live` first, and is CPython's until then.
"""

from wit_world.imports import environment, file_changes, file_systems, files, preopens, process, system_log, tls, types

try:
    from componentize_py_types import Err
except ImportError:  # Unit tests run without the generated bindings.
    from wit_world import Err

__all__ = [
    "Err", "environment", "file_changes", "file_systems", "files", "preopens", "process", "system_log", "tls", "types",
    "is_live", "go_live"]

_LIVE = False


def is_live():
    """Returns whether a run has begun."""
    return _LIVE


def go_live():
    """Marks the begin of a run."""
    global _LIVE
    _LIVE = True
