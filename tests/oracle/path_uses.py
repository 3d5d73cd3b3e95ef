"""Compares the table of path uses with the documentation of ansible-core's modules. Prints each mistake on a line."""

import os
import sys

import yaml
from ansible.plugins.loader import fragment_loader, init_plugin_loader
from ansible.utils import plugin_docs

import ansible

# An action of the controller does the work of these; their files hold documentation only.
ACTIONS = {"include_vars", "template"}

# Options that an action of the controller adds, and that are not documented.
ADDED = {"ansible.builtin.async_status": {"_async_dir"}}

MODULES = os.path.join(os.path.dirname(ansible.__file__), "modules")


def options(name):
    path = os.path.join(MODULES, name + ".py")
    if not os.path.exists(path):
        return None
    documentation = plugin_docs.get_docstring(
        path, fragment_loader, collection_name="ansible.builtin", plugin_type="module"
    )[0]
    return (documentation or {}).get("options") or {}


def is_path(option):
    return "path" in (option.get("type"), option.get("elements"))


def mistakes(module, rows, known):
    for name, row in rows.items():
        if name in ADDED.get(module, ()):
            continue
        if name not in known:
            yield f"{module} has no option {name}"
        elif str(row).startswith("beside "):
            if known[name].get("type") != "bool" or row.split()[1] not in rows:
                yield f"{module}, {name}: it is no boolean, or it is beside no path"
        elif not is_path(known[name]):
            yield f"{module}, {name}: it is no path"
        for case in row if isinstance(row, list) else []:
            for conditions in case.values() if isinstance(case, dict) else []:
                for other, values in conditions.items():
                    found = known.get(other)
                    if found is None or found.get("aliases"):
                        yield f"{module}, {name}: {other} is no option, or has other names"
                        continue
                    choices = found.get("choices")
                    values = values if isinstance(values, list) else [values]
                    if choices and any(value is not None and value not in choices for value in values):
                        yield f"{module}, {name}: {other} has no choice {values}"
    for name, option in known.items():
        if is_path(option) and name not in rows:
            yield f"{module}, {name}: the table says nothing of this path"


def main():
    init_plugin_loader([])
    with open(sys.argv[1], encoding="utf-8") as file:
        table = yaml.safe_load(file)
    prefix = "ansible.builtin."
    for module in table:
        if module.startswith(prefix) and options(module.removeprefix(prefix)) is None:
            print(f"{module} is no module")
    compared = 0
    for file in sorted(os.listdir(MODULES)):
        name = file.removesuffix(".py")
        if not file.endswith(".py") or name.startswith("_") or name in ACTIONS:
            continue
        for mistake in mistakes(prefix + name, table.get(prefix + name, {}), options(name)):
            print(mistake)
        compared += 1
    print(f"compared {compared}", file=sys.stderr)


if __name__ == "__main__":
    main()
