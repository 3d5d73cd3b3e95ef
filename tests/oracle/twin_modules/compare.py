"""Compares what the two sides of the twin test return and leave. Each difference is one line, which rows of the table match."""

import json
import re

import trees

# What differs from run to run, or is not a module's: what it was called with, and words for people.
NOT_COMPARED = {"failed", "invocation", "warnings", "deprecations", "exception", "inode", "ctime", "version"}
# Sizes of folders depend on what was in them before.
OF_FOLDERS = {"size", "blocks", "nlink"}


# Python's lone surrogates, for bytes that are not text.
NO_TEXT = re.compile("[\udc80-\udcff]")
# What ansible-core's controller says of a result with such bytes; here its modules run without a controller. modbox says it,
# too, or shows other characters in their place.
REFUSED_TEXT = "Refusing to deserialize an invalid UTF8 string"


def plain(value, is_folder=False):
    """A result without times of the run, names by chance, and bytes that are not text."""
    if isinstance(value, dict):
        is_folder = bool(value.get("isdir")) or value.get("state") == "directory"
        left_out = NOT_COMPARED | (OF_FOLDERS if is_folder else set())
        if value.get("islnk"):
            left_out = left_out | {"atime"}  # reading a link, as the guard does, changes it
        return {key: plain(item) for key, item in value.items() if key not in left_out and not key.startswith("_ansible")}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return NO_TEXT.sub("\ufffd", trees.without_chance(value))
    if isinstance(value, float):
        return "now" if value > trees.RUN else round(value, 6)
    return value


def differences(task, ansible, modbox, before, tree_ansible, tree_modbox, right="ansible-core"):
    """The differences of a task: of outcomes, of results where both succeed, and of trees. `right` is the name of the right side."""
    a, m = ansible["result"], modbox["result"]
    found = []
    for result in (a, m):
        result.setdefault("changed", False)  # as the controller does
    if REFUSED_TEXT in str(m.get("msg")) and NO_TEXT.search(json.dumps([a, task["arguments"]], ensure_ascii=False)):
        pass
    elif ansible["failed"] != modbox["failed"]:
        who, said = (right, a) if ansible["failed"] else ("modbox", m)
        found.append(f"outcome: only {who} fails: {said.get('msg')}")
    elif not ansible["failed"]:
        found += of_values("result", named(task, plain(a)), named(task, plain(m)))
    # A failed task of modbox may leave everything as it was.
    if not (modbox["failed"] and tree_modbox == before):
        left, right = named(task, tree_ansible), named(task, tree_modbox)
        found += of_values("tree", left, right)
    return found


def named(task, value):
    """A value in which names that `tempfile` chose are the same, and without the size of archives and the order of folders."""
    if task["module"] == "archive" and isinstance(value, dict):
        return {key: sorted(item) if key == "archived" else item for key, item in value.items() if key != "size"}
    if task["module"] == "command" and isinstance(value, dict):
        return {key: item for key, item in value.items() if key not in ("start", "end", "delta", "stdout_lines", "stderr_lines")}
    if task["module"] == "uri" and isinstance(value, dict):
        return {key: item for key, item in value.items() if key not in ("date", "elapsed", "stdout_lines")}
    if task["module"] == "get_url" and isinstance(value, dict):
        return {key: item for key, item in value.items() if key not in ("src", "elapsed")}  # a temporary file
    if task["module"] == "template" and isinstance(value, dict) and "changed" in value:
        # The rest is what `copy` returns of a file, for the action to show.
        of_action = {"checksum"} if task["arguments"].get("force") is False else set()
        return {key: value[key] for key in {"changed", "checksum", "dest", "backup_file"} - of_action if key in value}
    if task["module"] == "copy" and isinstance(value, dict):
        # Ansible's action shows its own source, makes the difference, and with `force: false` does not call this module.
        of_action = {"src", "diff"} | ({"msg", "checksum", "md5sum"} if task["arguments"].get("force") is False else set())
        return {key: item for key, item in value.items() if key not in of_action}
    if task["module"] != "tempfile":
        return value
    ends = [re.escape(task["arguments"].get(key, default)) for key, default in (("prefix", "ansible."), ("suffix", ""))]
    chosen = re.compile(f"(?<![^/])({ends[0]})[a-z0-9_]{{8}}({ends[1]})$")

    def without(item):
        if isinstance(item, dict):
            return {without(key): without(inner) for key, inner in item.items()}
        if isinstance(item, list):
            return [without(inner) for inner in item]
        return chosen.sub(r"\1CHOSEN\2", item) if isinstance(item, str) else item

    return without(value)


def of_values(where, left, right):
    if isinstance(left, dict) and isinstance(right, dict):
        found = []
        for key in sorted(left.keys() | right.keys()):
            inner = f"{where}.{key}" if where != "tree" else f"tree `{key}`"
            if key not in right:
                found.append(f"{inner}: missing: {left[key]!r}")
            elif key not in left:
                found.append(f"{inner}: only modbox: {right[key]!r}")
            else:
                found += of_values(inner, left[key], right[key])
        return found
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [line for number, pair in enumerate(zip(left, right)) for line in of_values(f"{where}[{number}]", *pair)]
    return [] if left == right and type(left) is type(right) else [f"{where}: {left!r}, modbox: {right!r}"]


def is_refusal(modbox, before, tree):
    """Whether modbox refused a task for want of a grant, and left everything as it was."""
    said = modbox["result"].get("msg", "")
    asks = modbox["status"] == "denied" or bool(modbox["denials"]) or "--allow-" in said or "--designate" in said
    return modbox["failed"] and asks and tree == before


# Parts of the warnings by which a result says that it differs.
SAYS = "and did not see it", "made in a `/tmp` of the module's own", "bits were refused, and are not set"


def is_said(modbox):
    """Whether the result says that the task looked for what is not granted, or made what is gone."""
    return any(part in warning for warning in modbox["result"].get("warnings", []) for part in SAYS)
