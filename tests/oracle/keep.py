"""Action plugin for the plays of tests: keeps what a play has registered."""

import json

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Writes text into a file of the controller. `copy` would start two processes for that."""

    def run(self, tmp=None, task_vars=None):
        content = self._task.args["content"]
        # Releases before 2.19 read a text that looks like a list.
        text = content if isinstance(content, str) else json.dumps(content)
        with open(self._task.args["dest"], "w", encoding="utf-8") as file:
            file.write(text)
        return {"changed": True}
