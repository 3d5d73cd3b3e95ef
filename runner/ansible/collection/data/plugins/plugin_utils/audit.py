"""Whether the audit lines of runs are wanted, for the callback that collects them and for the action plugin that asks for them.

Both are in the process of ansible-playbook, or in a fork of it. The callback is loaded before the first task.
"""

from __future__ import annotations

# Key of a result's `invocation` that has the line. Ansible registers no `invocation` before 2.21, and prints it with `-vvv`.
KEY = "modbox"

_wanted = False


def want():
    """Says that lines are wanted."""
    global _wanted
    _wanted = True


def is_wanted():
    """Returns whether lines are wanted."""
    return _wanted
