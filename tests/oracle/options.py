#!/usr/bin/env python3
"""Compares the options of modbox's components with those that ansible-core documents for its modules of the same names.

    VENV/bin/python tests/oracle/options.py --modbox target/debug/modbox --library DIR --collections DIR --home DIR NAME...

Of each option it compares type, elements, default, choices, aliases, and whether it is required. The table names the differences
that are so on purpose: module or `*`, option, what differs, reason. A row that nothing matches is an error.
"""

import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OF_COLLECTIONS = {"archive": "community.general.archive", "ini_file": "community.general.ini_file"}
# What Ansible's documentation leaves out.
UNSET = {"type": "str", "elements": None, "default": None, "choices": None, "aliases": [], "required": False}
COLUMNS = "module", "option", "what", "reason"


def documented(options):
    """The options by ansible-doc, of all modules in one call."""
    names = {name: OF_COLLECTIONS.get(name, f"ansible.builtin.{name}") for name in options.names}
    command = [os.path.join(os.path.dirname(sys.executable), "ansible-doc"), "-t", "module", "-j", *names.values()]
    environment = {**os.environ, "ANSIBLE_HOME": options.home, "ANSIBLE_COLLECTIONS_PATH": options.collections}
    found = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    return {name: found[full]["doc"]["options"] for name, full in names.items()}


def ours(options, name):
    command = [options.modbox, "inspect", os.path.join(options.library, name + ".wasm"), "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found["metadata"]["argument_spec"]


def plain(option):
    """What is compared of an option."""
    found = {key: option.get(key, unset) for key, unset in UNSET.items()}
    found["type"] = found["type"] or "str"
    found["aliases"] = sorted(found["aliases"] or [])
    if found["choices"] is not None:
        # Documentation may describe each choice.
        found["choices"] = sorted(map(str, found["choices"]))
    # A list without items is what a list without a default is to a module.
    return found


def differences(theirs, mine):
    for name in sorted(theirs.keys() | mine.keys()):
        if name not in mine:
            yield name, "missing", None, None
        elif name not in theirs:
            yield name, "extra", None, None
        else:
            left, right = plain(theirs[name]), plain(mine[name])
            for key in UNSET:
                if left[key] != right[key]:
                    yield name, key, left[key], right[key]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("modbox", "library", "collections", "home"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--table", default=os.path.join(HERE, "options.tsv"))
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    with open(options.table, encoding="utf-8") as file:
        rows = [dict(zip(COLUMNS, line.rstrip("\n").split("\t"))) for line in file if not line.startswith("#")]
    used, failed, compared = set(), 0, 0
    for module, theirs in documented(options).items():
        mine = ours(options, module)
        compared += len(theirs)
        for option, what, left, right in differences(theirs, mine):
            known = [number for number, row in enumerate(rows) if row["module"] in ("*", module) and (row["option"], row["what"]) == (option, what)]
            used.update(known)
            if not known:
                failed += 1
                print(f"{module}\t{option}\t{what}\tansible-core: {left!r}, modbox: {right!r}")
    for number, row in enumerate(rows):
        if number not in used or not row.get("reason"):
            failed += 1
            print(f"no difference matches the row, or it has no reason: {row}")
    print(f"{compared} options compared, {failed} different")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
