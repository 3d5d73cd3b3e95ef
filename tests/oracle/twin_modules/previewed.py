"""Sides of the twin test that run a task plainly, and that preview it, save the changes and apply them."""

import json
import os
import subprocess

import sides

# The time that one step may take, on a busy machine.
PATIENCE = 120


class Previewed:
    """`modbox run --preview --save`, and `modbox apply`."""

    def __init__(self, program, locate, options, work):
        self.program, self.locate, self.options = program, locate, options
        self.saved = os.path.join(work, "changes")

    def run(self, task):
        if os.path.exists(self.saved):
            os.unlink(self.saved)
        flags = ["--diff"] if task["diff"] else []
        words = ["run", "--output", "report", "--preview", "--save", self.saved, *self.options, *flags, self.locate(task["module"]),
                 "--args", json.dumps(task["arguments"])]
        ran = self.call(words)
        report = json.loads(ran.stdout)
        found = sides.seen(report)
        if os.path.exists(self.saved):
            applied = self.call(["apply", "--json", self.saved])
            if applied.returncode != 0:
                return {**found, "failed": True, "result": {"msg": f"not applied: {applied.stdout}{applied.stderr}"}}
        elif not found["failed"] and ran.returncode != 0:
            return {**found, "failed": True, "result": {"msg": f"not saved: {ran.stderr} {report.get('effect')}"}, "status": "denied"}
        return found

    def call(self, words):
        return subprocess.run([self.program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE)

    def end(self):
        pass
