"""Collects the audit lines of all hosts in one file on the controller, which `modbox audit` shows.

A line has what the host's own audit log has, with the names of the host and of the task. Tasks that modbox does not run have
none, and neither have tasks with `no_log`, whose results Ansible hides from callbacks.
"""

from __future__ import annotations

import fcntl
import json
import os

from ansible.plugins.callback import CallbackBase

from ansible_collections.modbox.modbox.plugins.plugin_utils import audit

DOCUMENTATION = r"""
name: audit
type: aggregate
short_description: collects the audit lines of modbox on all hosts
description:
  - Appends a line of JSON to a file on the controller for each module that modbox has run on a host.
  - The line is that of the host's audit log, with C(host) and C(task). C(modbox audit FILE) shows the file.
  - Component modules of collections tell their lines whenever this callback is enabled. Modules that run by C(modbox-python)
    tell them if a policy file of the host has C(audit-in-results) set to C(true).
  - Tasks with C(no_log) are left out, since Ansible hides their results.
options:
  path:
    description: File that gets the lines. It is made with mode 0600.
    type: path
    default: modbox-audit.jsonl
    env:
      - name: MODBOX_AUDIT_FILE
    ini:
      - section: modbox_audit
        key: path
requirements:
  - enabled by C(callbacks_enabled = modbox.modbox.audit)
"""

# Keys of a line that a reader needs.
NEEDED = ("time", "status", "module")
# Longest line, in bytes. A host is not trusted to keep to its own limits.
MAX_LINE = 1 << 20


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "modbox.modbox.audit"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._told = set()
        self._has_failed = False

    def set_options(self, task_keys=None, var_options=None, direct=None):
        super().set_options(task_keys=task_keys, var_options=var_options, direct=direct)
        self._path = self.get_option("path")
        audit.want()

    def v2_runner_on_ok(self, result):
        self._add(result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._add(result)

    def v2_runner_item_on_ok(self, result):
        self._add(result)

    def v2_runner_item_on_failed(self, result):
        self._add(result)

    def v2_runner_on_async_ok(self, result):
        self._add(result)

    def v2_runner_on_async_failed(self, result):
        self._add(result)

    def _add(self, result):
        """Appends the line of a result, if it has one."""
        invocation = result._result.get("invocation")
        line = invocation.get(audit.KEY) if isinstance(invocation, dict) else None
        if not isinstance(line, dict) or any(key not in line for key in NEEDED):
            return
        line = {**line, "host": result._host.get_name(), "task": result._task.get_name()}
        text = json.dumps(line, default=str)
        # The result of a job comes from each task that asks for it.
        sign = (line["host"], str(line["time"]), str(line["module"]))
        if sign in self._told:
            return
        self._told.add(sign)
        if len(text) > MAX_LINE:
            self._warn(f"the audit line of a task on {line['host']} is longer than {MAX_LINE} bytes and left out")
            return
        try:
            self._append(text.encode() + b"\n")
        except OSError as error:
            self._warn(f"the audit lines of hosts are not written: {error}")

    def _append(self, data):
        """Appends bytes completely or not at all."""
        number = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(number, "ab", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            before = file.seek(0, os.SEEK_END)
            if file.write(data) != len(data):
                file.truncate(before)
                raise OSError(f"{self._path} has no room for another line")

    def _warn(self, text):
        """Warns once: the next lines most likely have the same cause."""
        if not self._has_failed:
            self._display.warning(f"modbox.modbox.audit: {text}")
        self._has_failed = True
