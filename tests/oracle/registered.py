"""What ansible-core registers for the raw output of a module.

A filter: one JSON object a line in, `{"name", "stdout", "stderr", "rc"}` with both streams as base64; one
JSON object a line out, `{"name", "registered"}`, where `registered` is the JSON text that a template sees.

Runs the real `ansible-playbook` beside this interpreter, once for all lines: every line becomes a task
that starts one old-style shell module, which replays the output. Does not clean anything up for the
comparison; the caller knows which keys are particular to a run.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MODULE = """#!/bin/sh
. "$1"
cat "$case/stderr" >&2
cat "$case/stdout"
exit "$(cat "$case/rc")"
"""


def write_case(folder, case):
    folder.mkdir(parents=True)
    (folder / "stdout").write_bytes(base64.b64decode(case["stdout"]))
    (folder / "stderr").write_bytes(base64.b64decode(case["stderr"]))
    (folder / "rc").write_text(str(case["rc"]))


CALLBACK = """
import os, pathlib
from ansible.plugins.callback import CallbackBase

class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "keep"

    def v2_runner_on_ok(self, result):
        # Older releases have it only with the underscore.
        task, result = (result.task, result.result) if hasattr(result, "task") else (result._task, result._result)
        if task.action == "debug":
            (pathlib.Path(os.environ["KEEP"]) / task.name).write_text(result["msg"])
"""


def playbook(root, count):
    tasks = []
    for index in range(count):
        replay = {"case": str(root / "cases" / str(index))}
        tasks.append({"replay": replay, "register": "registered", "ignore_errors": True})
        # Text in front, or Ansible would make the JSON a dict again.
        shown = {"msg": "JSON{{ registered | to_json }}"}
        tasks.append({"name": str(index), "debug": shown, "ignore_errors": True})
    return [{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]


def main():
    cases = [json.loads(line) for line in sys.stdin if line.strip()]
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for index, case in enumerate(cases):
            write_case(root / "cases" / str(index), case)
        for folder in ("library", "callback_plugins", "out"):
            (root / folder).mkdir()
        (root / "library" / "replay").write_text(MODULE)
        (root / "callback_plugins" / "keep.py").write_text(CALLBACK)
        (root / "play.yml").write_text(json.dumps(playbook(root, len(cases))))
        env = {
            "PATH": os.environ["PATH"],
            "HOME": scratch,
            "LC_ALL": "C.UTF-8",
            "KEEP": str(root / "out"),
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        }
        command = pathlib.Path(sys.executable).parent / "ansible-playbook"
        played = subprocess.run([command, "play.yml"], cwd=root, env=env, capture_output=True, check=False)
        sys.stderr.buffer.write(played.stdout + played.stderr)
        for index, case in enumerate(cases):
            kept = root / "out" / str(index)
            registered = kept.read_text().removeprefix("JSON") if kept.exists() else None
            print(json.dumps({"name": case["name"], "registered": registered}))


main()
