"""Compares the table of what modules manage with the documentation of ansible-core's modules: each module and each option of a line exists.
Prints each mistake on a line."""

import re
import sys

from ansible.plugins.loader import init_plugin_loader
from path_uses import options

PREFIX = "ansible.builtin."


def named(line):
    """Returns the options that a line names."""
    line = line.removeprefix("no rule for ")
    head, _, conditions = line.partition(" if ")
    if ": " in head:
        # A reason follows. What works unconfined names no option.
        return [name for name in [head.split(": ")[0]] if name != "unconfined"]
    _, _, of = head.partition(" of ")
    names = of.removesuffix(" else the user").split(", ") if of and not head.startswith("outside ") else []
    return names + [part.split(" is ")[0] for part in conditions.split(" and ") if part]


def main():
    init_plugin_loader([])
    compared, module, known = 0, None, None
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if not re.match(r"#|\s*$", line)]
    for line in lines:
        if not line.startswith(" "):
            module = line
            known = options(module.removeprefix(PREFIX)) if module.startswith(PREFIX) else None
            if module.startswith(PREFIX) and known is None:
                print(f"{module} is no module")
            continue
        if known is None:
            continue
        for name in named(line.strip()):
            own, *aliases = name.split("/")
            if own not in known:
                print(f"{module}: there is no option {own}: {line.strip()}")
            elif sorted(aliases) != sorted(known[own].get("aliases") or []):
                print(f"{module}: other names of {own} are {known[own].get('aliases')}: {line.strip()}")
            compared += 1
    print(f"compared {compared}", file=sys.stderr)


main()
