"""Returns a greeting, and writes it to the file `path` if that is given."""

import os

from modbox import Failure, command


def main(module):
    name = module.text("name")
    greeting = f"hello {name}" + ("!" if module.flag("loud") else "")
    result = {"changed": False, "greeting": greeting, "n": module.number("n")}
    path = module.args.get("path")
    if path is not None:
        if os.path.isdir(path):
            raise Failure(f"{path} is a folder")
        try:
            with open(path, encoding="utf-8") as file:
                result["changed"] = file.read() != greeting + "\n"
        except FileNotFoundError:
            result["changed"] = True
        if result["changed"] and not module.check_mode:
            with open(path, "w", encoding="utf-8") as file:
                file.write(greeting + "\n")
    if module.check_mode:
        result["check"] = True
    return result


Run = command(main)
