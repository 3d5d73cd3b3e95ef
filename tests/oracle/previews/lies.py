"""Modules that do not do what they say, with what must be said of them.

Each is a script with `WANT_JSON`. It has `tree`, `check` (whether it runs in check mode), and ends with `say(changed)`.
"""

import dataclasses
import os

import manifest
import start_tree

HEAD = """#!/usr/bin/python3
# WANT_JSON
import json, mmap, os, sys
with open(sys.argv[1]) as file:
    args = json.load(file)
tree, check = args["tree"], args["_ansible_check_mode"]
os.chdir(tree)

def say(changed, **more):
    print(json.dumps({"changed": changed, **more}))
    sys.exit(0)

def write(path, text):
    with open(path, "w") as file:
        file.write(text)

def times(path):
    found = os.stat(path)
    return found.st_atime_ns, found.st_mtime_ns

"""


@dataclasses.dataclass
class Lie:
    """One module, and what must be said of it."""

    name: str
    body: str
    claim: str
    # The kinds and paths of all changes of the real run.
    changes: tuple
    # What its check mode claims, whether it wrote then, and whether that is what the real run does.
    check: tuple
    module: str = "lie"
    own: bool = False


MODIFIED = (("modified", "file"),)
UNSEEN, UNTOLD, AGREES = "claimed-not-observed", "observed-not-claimed", "agrees"

LIES = [
    Lie("says changed and does nothing", "say(True)", UNSEEN, (), (True, False, False)),
    Lie("writes and says unchanged", "if not check: write('file', 'new')\nsay(False)", UNTOLD, MODIFIED, (False, False, False)),
    Lie("writes in check mode", "write('file', 'new')\nsay(True)", AGREES, MODIFIED, (True, True, False)),
    Lie(
        "writes and restores bytes and time",
        "old, before = open('file').read(), times('file')\nwrite('file', 'new')\nwrite('file', old)\nos.utime('file', ns=before)\nsay(True)",
        UNSEEN,
        (),
        (True, False, False),
    ),
    Lie(
        "writes through a mapping",
        "with open('lines', 'r+b') as file, mmap.mmap(file.fileno(), 0) as memory:\n    if not check: memory[0:3] = b'zzz'\nsay(False)",
        UNTOLD,
        (("modified", "lines"), ("modified", "linked lines")),
        (False, False, False),
    ),
    Lie(
        "writes by another name of the file",
        "if not check: write('dir/deep/second name of a', 'other')\nsay(False)",
        UNTOLD,
        (("modified", "dir/a"), ("modified", "dir/deep/second name of a")),
        (False, False, False),
    ),
    Lie(
        "renames",
        "if not check: os.rename('dir', 'was'); os.rename('file', 'was/file')\nsay(False)",
        UNTOLD,
        (("renamed", "was"), ("renamed", "was/file")),
        (False, False, False),
    ),
    Lie(
        "keeps the time",
        "before = times('file')\nif not check: write('file', 'new'); os.utime('file', ns=before)\nsay(False)",
        UNTOLD,
        MODIFIED,
        (False, False, False),
    ),
    Lie(
        "keeps the time and the size",
        "before = times('file')\nif not check: write('file', 'same size'[:9] + '\\n'); os.utime('file', ns=before)\nsay(False)",
        UNTOLD,
        MODIFIED,
        (False, False, False),
    ),
    Lie(
        "creates and deletes",
        "os.mkdir('new'); write('new/x', 'x'); os.remove('new/x'); os.rmdir('new')\nsay(True)",
        UNSEEN,
        (),
        (True, False, False),
    ),
    Lie(
        "changes attributes only",
        "if not check: os.chmod('dir', 0o700); os.setxattr('file', 'user.x', b'other')\nsay(False)",
        UNTOLD,
        (("attributes", "dir"), ("attributes", "file")),
        (False, False, False),
    ),
    # A new time alone is not a change, whatever the module says of it.
    Lie("changes times only and says unchanged", "if not check: os.utime('file')\nsay(False)", AGREES, (("times", "file"),), (False, False, True)),
    Lie("changes times only and says changed", "if not check: os.utime('file')\nsay(True)", AGREES, (("times", "file"),), (True, False, False)),
    Lie("writes and says skipped", "if not check: write('file', 'new')\nsay(False, skipped=True)", UNTOLD, MODIFIED, (None, False, False)),
    Lie(
        "skips in check mode",
        "if check: say(False, skipped=True)\nwrite('file', 'new')\nsay(True)",
        AGREES,
        MODIFIED,
        (None, False, False),
    ),
    Lie(
        "writes in check mode and says unchanged",
        "write('added', 'x')\nsay(False)",
        UNTOLD,
        (("created", "added"),),
        (False, True, False),
    ),
    Lie(
        "replaces by an equal file",
        "write('copy', open('lines').read())\nos.utime('copy', ns=times('lines'))\nos.remove('linked lines')\nos.rename('copy', 'linked lines')\nsay(True)",
        UNSEEN,
        (),
        (True, False, False),
    ),
    # No lie: what is honest must be called so.
    Lie("is honest", "if not check: write('file', 'new')\nsay(True)", AGREES, MODIFIED, (True, False, True)),
    Lie("is honest and does nothing", "say(False)", AGREES, (), (False, False, True)),
]


def prove(side, number, lie):
    """Runs a module in a preview with its check mode. Returns the faults."""
    folder = os.path.join(side.place, "cases", str(number))
    tree, script = os.path.join(folder, "tree"), os.path.join(folder, "lie")
    start_tree.make(tree, "")
    start_tree.write(script, HEAD + lie.body + "\n", 0o755)
    if side.user is not None:
        start_tree.give(tree, side.user)
    traces = manifest.traces(tree)
    report = side.run(script, {"tree": tree}, ["--allow-write", tree, "--preview", "--check"])
    faults = [] if manifest.traces(tree) == traces else ["it leaves a trace"]
    effect = report.get("effect")
    if effect is None:
        return [*faults, f"no preview: {report['result']}"], False
    changes = tuple(sorted((change["kind"], change["path"][len(tree) + 1:]) for change in effect["changes"]))
    check = effect["check"]
    for what, found, expected in [
        ("claim", effect.get("claim"), lie.claim),
        ("changes", changes, tuple(sorted(lie.changes))),
        ("check", (check["claimed"], check["wrote"], check["agrees"]), lie.check),
        ("changed", effect["changed"], any(kind != "times" for kind, _ in lie.changes)),
        ("status", report["status"] == "changed", effect["changed"]),
    ]:
        if found != expected:
            faults.append(f"{what} is {found} and not {expected}: {report['result'].get('msg', '')}")
    return faults, False
