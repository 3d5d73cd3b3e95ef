"""What a case has that the table's rows can name: a row with a feature matches only cases that have it."""

import os

# The arguments that hold paths.
PATHS = "path", "paths", "src", "dest", "exclude_path"


def named(task):
    """The paths that a task names, below the root."""
    values = [value for key, value in task["arguments"].items() if key in PATHS]
    return [path for value in values for path in (value if isinstance(value, list) else [value])]


def of(case, user=None):
    tree, task = case["tree"], case["task"]
    paths = named(task)
    links = {entry["path"]: entry["to"] for entry in tree if entry["kind"] == "link"}
    inner = [path.removeprefix("ROOT").lstrip("/") for path in paths]
    modes = [entry.get("mode", 0) for entry in tree] + [as_number(task["arguments"].get("mode"))]
    texts = [entry["path"] for entry in tree] + inner
    tests = {
        "named-link": any(on_the_way(path, links) for path in inner),
        "absolute-link": any(to.startswith("ROOT") for to in links.values())
            or task["arguments"].get("state") == "link" and str(task["arguments"].get("src")).startswith("ROOT"),
        "link": bool(links) or task["arguments"].get("state") == "link",
        "not-utf8": any("\udc80" <= letter <= "\udcff" for text in texts for letter in text),
        "slash": any(path.endswith(("/", "/.")) for path in paths),
        "empty": "" in paths,
        "dots": any("/./" in path or "/../" in path or "//" in path for path in paths),
        "below-file": any(is_below(path, tree) for path in inner),
        "special-mode": any(mode & 0o7000 for mode in modes),
        "hard-link": any(entry["kind"] == "hard" for entry in tree),
        "old-time": any(entry.get("time", 0) < 0 for entry in tree),
        "check": task["check"],
        "backup": bool(task["arguments"].get("backup")),
        "long-name": any(len(name.encode(errors="surrogateescape")) > 240 for text in texts for name in text.split("/")),
        "denied": user is not None and any(may_not_use(entry) for entry in tree),
    }
    tests["denied-dots"] = tests["denied"] and tests["dots"]
    return {name for name, holds in tests.items() if holds}


def on_the_way(path, links):
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return any("/".join(parts[:number + 1]) in links for number in range(len(parts)))


def is_below(path, tree):
    """Whether a path goes on below something that is no folder, or below what is not there."""
    folders = {entry["path"] for entry in tree if entry["kind"] == "folder"}
    parent = os.path.dirname(path)
    return bool(parent) and parent not in folders


def may_not_use(entry):
    """Whether the owner of an entry may not read, write or search it."""
    return entry["kind"] in ("file", "folder") and ~entry.get("mode", 0o700) & (0o700 if entry["kind"] == "folder" else 0o600) != 0


def as_number(mode):
    try:
        return int(mode, 8)
    except (TypeError, ValueError):
        return 0
