"""Applies the list of changes of a preview to what was in a tree before, without the tree and without modbox.

The rules are those of the manual: first, the deepest path first, renamed entries are taken out and removed ones removed;
then all others are put in place, parents first. What does not fit is an error: a change of a path that does not exist, another
state before, another number of removed entries.
"""

# What a change says of an entry, apart from its time.
KEYS = ("type", "mode", "uid", "gid", "size", "xattrs", "sha256", "target")


class Unfit(Exception):
    """A change that cannot be made."""


def depth(path):
    return path.count("/") + 1 if path else 0


def shown(entry):
    """The state that a change tells, in the form of a manifest."""
    found = {key: entry[key] for key in KEYS if key in entry}
    found["xattrs"] = sorted(entry.get("xattrs", []))
    return found


def below(states, path):
    """The paths below a path."""
    prefix = path + "/" if path else ""
    return [other for other in states if other != path and other.startswith(prefix)]


def expect_before(change, states, path):
    """Compares the state before that a change tells with the real one, unless the preview says that it cannot tell."""
    if path not in states:
        raise Unfit(f"{change['kind']} `{path}`: there is no such entry")
    expected = dict(states[path])
    if change["kind"] in ("removed", "renamed") and "sha256" not in change["before"]:
        # What is taken away is not always read.
        expected.pop("sha256", None)
    if shown(change["before"]) != expected and not change.get("excused"):
        raise Unfit(f"{change['kind']} `{path}`: before it was {states[path]}, and not {shown(change['before'])}")


def take(change, states):
    """Takes a renamed entry out, and returns it with all below it."""
    path = change["from"]
    expect_before(change, states, path)
    names = below(states, path)
    taken = {name[len(path):]: states.pop(name) for name in names}
    del states[path]
    return taken


def remove(change, states):
    path = change["path"]
    expect_before(change, states, path)
    names = below(states, path)
    if len(names) != change.get("entries", 0):
        raise Unfit(f"removed `{path}`: {len(names)} entries are below it, and not {change.get('entries', 0)}")
    for name in [path, *names]:
        del states[name]


def put(change, states, taken):
    """Puts an entry in its place."""
    path, kind = change["path"], change["kind"]
    parent = path.rpartition("/")[0]
    if path and states.get(parent, {}).get("type") != "directory":
        raise Unfit(f"{kind} `{path}`: there is no directory `{parent}`")
    if kind in ("created", "renamed"):
        if path in states:
            raise Unfit(f"{kind} `{path}`: it is there already")
        for name, entry in taken.items():
            states[path + name] = entry
    elif kind in ("modified", "replaced", "attributes", "times"):
        expect_before(change, states, path)
        if change["after"]["type"] != "directory":
            for name in below(states, path):
                del states[name]
    else:
        raise Unfit(f"`{path}`: there is no change called `{kind}`")
    check_kind(change)
    states[path] = shown(change["after"])


def check_kind(change):
    """Compares the word for a change with the states that it tells."""
    if change["kind"] in ("created", "renamed"):
        return
    before, after = shown(change["before"]), shown(change["after"])
    of_content = ("size", "sha256", "target")
    kind = "times"
    if before["type"] != after["type"]:
        kind = "replaced"
    elif any(before.get(key) != after.get(key) for key in of_content):
        kind = "modified"
    elif before != after or change["kind"] == "attributes":
        # The values of attributes are not told, so that one can be different with the same names.
        kind = "attributes"
    if kind != change["kind"]:
        raise Unfit(f"`{change['path']}` is called {change['kind']}, and it is {kind}")


def apply(states, changes):
    """Returns the states after the changes."""
    states, taken = dict(states), {}
    gone = [change for change in changes if change["kind"] in ("removed", "renamed")]
    for change in sorted(gone, key=lambda change: -depth(change.get("from", change["path"]))):
        if change["kind"] == "renamed":
            taken[change["path"]] = take(change, states)
        else:
            remove(change, states)
    others = [change for change in changes if change["kind"] != "removed"]
    for change in sorted(others, key=lambda change: depth(change["path"])):
        put(change, states, taken.get(change["path"], {}))
    return states


def totals(changes):
    """The numbers of changes of each kind, as the report counts them."""
    kinds = ("created", "modified", "removed", "replaced", "renamed", "attributes", "times")
    found = {kind: sum(change["kind"] == kind for change in changes) for kind in kinds}
    found["removed"] += sum(change.get("entries", 0) for change in changes)
    return found
