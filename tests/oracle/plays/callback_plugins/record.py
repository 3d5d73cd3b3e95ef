"""Ansible callback plugin that writes what happens in a play to a file, one JSON object per line.

The events and their names are those of `modbox play --output jsonl`; results are complete, with what Ansible hides on a terminal.
"""

import json
import os

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: record
type: notification
short_description: writes the events of a play to the file that RECORD names
description: see above
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "record"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.file = open(os.environ["RECORD"], "a")

    def write(self, event, **fields):
        self.file.write(json.dumps({"event": event, **fields}, default=str) + "\n")
        self.file.flush()

    def result(self, event, status, result, **fields):
        found = dict(result.result)
        skipped = found.get("skipped", False)
        if status == "ok":
            status = "skipped" if skipped and event == "item" else "changed" if result.is_changed() else "ok"
        if result.result.get("_ansible_no_log"):
            found = {"censored": "hidden", "changed": found.get("changed", False)}
        self.write(event, task=result.task.get_name(), status=status, result=found, **fields)

    def v2_playbook_on_play_start(self, play):
        self.write("play_start", play=play.get_name().strip(), check_mode=play.check_mode)

    def v2_playbook_on_task_start(self, task, is_conditional):
        self.write("task_start", task=task.get_name(), is_handler=False, check_mode=task.check_mode)

    def v2_playbook_on_handler_task_start(self, task):
        self.write("task_start", task=task.get_name(), is_handler=True, check_mode=task.check_mode)

    def v2_playbook_on_notify(self, handler, host):
        self.write("handler", handler=handler.get_name())

    def v2_playbook_on_no_hosts_matched(self):
        self.write("no_hosts_matched")

    def v2_playbook_on_no_hosts_remaining(self):
        self.write("no_hosts_remaining")

    def v2_playbook_on_include(self, included_file):
        self.write("included", task=included_file._task.get_name(), included=str(included_file._filename))

    def v2_runner_on_ok(self, result):
        self.result("result", "ok", result, ignored=False)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self.result("result", "failed", result, ignored=bool(ignore_errors))

    def v2_runner_on_skipped(self, result):
        self.result("result", "skipped", result, ignored=False)

    def v2_runner_on_unreachable(self, result):
        self.result("result", "unreachable", result, ignored=False)

    def v2_runner_retry(self, result):
        self.result("retry", "failed", result)

    def v2_runner_item_on_ok(self, result):
        self.result("item", "ok", result)

    def v2_runner_item_on_failed(self, result):
        self.result("item", "failed", result)

    def v2_runner_item_on_skipped(self, result):
        self.result("item", "skipped", result)

    def v2_playbook_on_stats(self, stats):
        for host in sorted(stats.processed):
            self.write("stats", host=host, stats=stats.summarize(host))
