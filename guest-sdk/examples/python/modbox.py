"""Helper for modules in Python: arguments, check mode and result.

    from modbox import Failure, command

    def main(module):
        return {"changed": False, "greeting": "hello " + module.args["name"]}

    Run = command(main)

The component calls the class `Run`. Copy this file next to `main.py`.
"""

import json
import sys
import traceback


class Failure(Exception):
    """Ends the module with a failed result: a message, and further entries."""

    def __init__(self, msg, **entries):
        super().__init__(msg)
        self.entries = entries


class Module:
    """The current run."""

    def __init__(self, given):
        # Ansible's internal arguments begin with `_ansible_`.
        self.args = {key: value for key, value in given.items() if not key.startswith("_ansible_")}
        self.check_mode = given.get("_ansible_check_mode") is True
        self.diff = given.get("_ansible_diff") is True

    def text(self, name, default=None):
        """Returns an argument as text. It is required if there is no default."""
        value = self.args.get(name)
        if value is None and default is None:
            raise Failure(f"missing required arguments: {name}")
        return default if value is None else str(value)

    def number(self, name, default=None):
        """Returns a whole number, or `None`. Numbers from `KEY=VALUE` arrive as text."""
        value = self.args.get(name, default)
        try:
            return None if value is None else int(value)
        except (TypeError, ValueError):
            raise Failure(f"argument '{name}' is not a whole number: {value}") from None

    def flag(self, name):
        """Returns whether an argument is true."""
        return str(self.args.get(name, False)).lower() in ("true", "yes", "on", "1")


def run(main):
    """Calls the module's function, and always returns a result."""
    try:
        if len(sys.argv) != 2:
            raise Failure("a module takes one argument, the path of a JSON file with its arguments")
        with open(sys.argv[1], encoding="utf-8") as file:
            return main(Module(json.load(file)))
    except Failure as failure:
        return {"failed": True, "msg": str(failure), **failure.entries}
    except Exception as error:
        traceback.print_exc()
        return {"failed": True, "msg": f"{type(error).__name__}: {error}"}


def command(main):
    """Returns the class that componentize-py looks for."""

    class Run:
        def run(self):
            print(json.dumps(run(main)))

    return Run
