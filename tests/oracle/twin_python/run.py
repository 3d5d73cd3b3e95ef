#!/usr/bin/env python3
"""The twin test of Python: random calls of `os`, `shutil` and `tempfile` on random small trees, natively and in the sandbox.

    VENV/bin/python tests/oracle/twin_python/run.py --modbox target/debug/modbox --work DIR --cases 100

An interpreter of the sandbox is installed. Calls are performed on equal trees at the same path: natively by this process, then by one
module in the sandbox, for which the folder of all trees is granted. Outcomes are compared call by call, and then the trees. Each case is
told by its first difference; one that no row of the table matches is an error, and is shrunk and printed.

Natively, a call is not performed that would leave the folder of its tree; neither is it then in the sandbox.
"""

import argparse
import collections
import fnmatch
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "twin_modules")]
import calls
import generate
from twin_modules import trees

# The failures that are shrunk and printed, and the cases of one run in the sandbox.
SHOWN, AT_ONCE = 8, 250

# Calls that may be told of the folder of a tree itself.
LOOKS = {"stat", "lstat", "listdir", "scandir", "walk", "readlink", "access", "looks", "realpath", "glob", "within"}

COLUMNS = "call", "native", "sandbox", "reason", "page"

MODULE = """#!/usr/bin/python
{calls}

def main():
    from ansible.module_utils.basic import AnsibleModule
    import json
    module = AnsibleModule(argument_spec=dict(cases=dict(type='path')))
    with open(module.params['cases'], encoding='ascii') as file:
        cases = json.load(file)
    found = [perform(case['root'], case['calls']) for case in cases]
    module.exit_json(found=found)


if __name__ == '__main__':
    main()
"""


def is_within(root, path):
    return path == root or path.startswith(root + "/")


def may_perform(root):
    """Which calls stay within a tree. Copies of a tree into itself, and of trees with links to folders, can grow without end."""

    def may(name, arguments):
        paths = [os.fsdecode(path) for path in arguments[:2] if isinstance(path, (str, bytes))]
        paths = paths[1:] if name == "symlink" else paths[:1] if name in ("within", "mkstemp", "named", "open", "os.open") else paths
        real = [os.path.realpath(path) for path in paths if path]
        around = [os.path.realpath(os.path.dirname(path.rstrip("/"))) for path in paths if path.rstrip("/") != root and path]
        if not all(is_within(root, path) for path in real + around):
            return False
        makes = name in ("mkdtemp", "mkstemp", "named", "nameless", "folder")
        if (makes or name in ("realpath", "glob")) and not paths[0]:
            # The working directory, or the root.
            return False
        if name == "rmtree" and ".." in paths[0]:
            # Removing what is on the way to itself has another end since Python 3.13.
            return False
        if name == "within" and real and not is_within(root, os.path.realpath(os.path.join(real[0], arguments[1]))):
            return False
        if name in ("copytree", "move") and len(real) == 2 and is_within(real[0], real[1]):
            return False
        # The folder of the tree itself is made by the test.
        return name in LOOKS or makes or root not in real

    return may


class Sandbox:
    """Runs of modbox with one granted folder."""

    def __init__(self, modbox, work):
        self.modbox, self.work = modbox, work
        self.granted = os.path.join(work, "g")
        os.makedirs(self.granted)
        self.module = os.path.join(work, "perform.py")
        with open(calls.__file__, encoding="utf-8") as file, open(self.module, "w", encoding="utf-8") as module:
            module.write(MODULE.format(calls=file.read()))

    def perform(self, cases):
        """Returns the outcomes of several cases; of one that cannot be run, why."""
        path = os.path.join(self.work, "cases.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump(cases, file)
        command = [self.modbox, "run", "--python", "wasm", "--output", "report", "--max-memory", "512MiB", "--timeout", "5m", "--max-output", "32MiB",
                   "--allow-write", self.granted, "--allow-read", path, self.module, "cases=" + path]
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        try:
            report = json.loads(ran.stdout)
            if report["status"] == "denied":
                # No case is run, as without an interpreter.
                sys.exit(report["result"]["msg"])
            return report["result"]["found"]
        except (ValueError, KeyError):
            if len(cases) > 1:
                middle = len(cases) // 2
                return self.perform(cases[:middle]) + self.perform(cases[middle:])
            return [f"the run failed: {ran.stdout[-2000:]!r} {ran.stderr[-2000:]!r}"]


class Twin:
    """Both sides, and the table of known differences."""

    def __init__(self, options, table, counts):
        self.sandboxes = [Sandbox(options.modbox, os.path.realpath(work)) for work in options.work]
        self.table, self.counts = table, counts

    def compare(self, cases, sandbox):
        """Returns the first difference of each case that no row matches, or `None`."""
        roots = [os.path.join(sandbox.granted, str(at)) for at in range(len(cases))]
        native, performed = [], []
        for root, case in zip(roots, cases):
            trees.make(root, case["tree"])
            outcomes = calls.perform(root, case["calls"], may_perform(root))
            native.append(([found for found in outcomes if found is not None], seen(root)))
            kept = [call for call, found in zip(case["calls"], outcomes) if found is not None]
            performed.append({"root": root, "calls": kept})
        for root, case in zip(roots, cases):
            trees.make(root, case["tree"])
        found = sandbox.perform(performed)
        assert len(found) == len(cases), (len(found), len(cases))
        differences = []
        for root, side, (outcomes, tree), ours in zip(roots, performed, native, found):
            self.counts["calls"] += len(outcomes)
            self.counts["succeeded"] += sum(not outcome.startswith("('raised'") for outcome in outcomes)
            differences.append(self.difference(side["calls"], outcomes, ours, tree, seen(root)))
        for root in roots:
            trees.shutil.rmtree(root)
        return differences

    def difference(self, performed, outcomes, ours, tree, our_tree):
        if isinstance(ours, str):
            return self.told("run", "no error", ours, performed)
        for call, native, sandbox in zip(performed, outcomes, ours):
            if native != sandbox:
                return self.told(call[0], native, sandbox, call)
        for name in sorted({*tree, *our_tree}):
            if tree.get(name) != our_tree.get(name):
                return self.told("tree", repr(tree.get(name)), repr(our_tree.get(name)), name)
        return None

    def told(self, call, native, sandbox, what):
        known = self.table.knows(call, native, sandbox)
        self.counts["known"] += known
        return None if known else (call, native, sandbox, what)


def seen(root):
    found = trees.seen(root, lambda _path, contents: trees.digest(contents))
    return {calls.BY_CHANCE.sub("BY_CHANCE", ascii(name)): what for name, what in found.items()}


class Table:
    """The known differences."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
        for fields in lines:
            if len(fields) != len(COLUMNS) or not all(fields):
                raise SystemExit(f"{path}: {fields}: not {len(COLUMNS)} columns")
        self.rows = [dict(zip(COLUMNS, fields), used=0) for fields in lines]

    def knows(self, call, native, sandbox):
        """Returns whether a row matches a difference. No row allows a success that Linux does not have."""
        for row in self.rows:
            if call in row["call"].split(",") and fnmatch.fnmatchcase(native, row["native"]) and fnmatch.fnmatchcase(sandbox, row["sandbox"]):
                row["used"] += 1
                return True
        return False


def shrink(case, fails):
    """Leaves calls and entries out while the case still fails."""
    for part in ("calls", "tree"):
        at = len(case[part]) - 1
        while at >= 0:
            rest = case[part][:at] + case[part][at + 1:]
            smaller = {**case, part: rest}
            if (part != "tree" or is_whole(rest)) and fails(smaller):
                case = smaller
            at -= 1
    return case


def is_whole(tree):
    names = {entry["path"] for entry in tree}
    return all((entry["path"].rpartition("/")[0] or entry["path"]) in names and (entry["kind"] != "hard" or entry["to"] in names) for entry in tree)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modbox", required=True)
    parser.add_argument("--work", required=True, nargs="+", help="empty folders, among which cases are divided")
    parser.add_argument("--table", default=os.path.join(HERE, "../../twin/python.tsv"))
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all-rows", action="store_true", help="a row that nothing matches is an error")
    parser.add_argument("--survey", action="store_true", help="print every difference in one line, and shrink nothing")
    options = parser.parse_args()
    os.umask(0o022)
    counts = collections.Counter()
    twin = Twin(options, Table(options.table), counts)
    generator = generate.Generator(options.seed)
    cases = [generator.case() for _ in range(options.cases)]
    failed = 0
    for begin in range(0, len(cases), AT_ONCE):
        sandbox = twin.sandboxes[begin // AT_ONCE % len(twin.sandboxes)]
        for at, difference in enumerate(twin.compare(cases[begin:begin + AT_ONCE], sandbox), begin):
            if difference is None:
                continue
            failed += 1
            if options.survey:
                print(at, *map(ascii, difference), sep=" | ")
            elif failed <= SHOWN:
                show(twin, sandbox, options.seed, at, cases[at], difference)
    unused = [row for row in twin.table.rows if not row["used"]]
    for row in unused if options.all_rows else []:
        failed += 1
        print(f"no case matches a row of the table: {row['reason']}")
    print(json.dumps({**counts, "cases": len(cases), "different": failed, "unused_rows": len(unused)}))
    return 1 if failed else 0


def show(twin, sandbox, seed, at, case, difference):
    counts = dict(twin.counts)
    alike = lambda smaller: (twin.compare([smaller], sandbox)[0] or [None])[0] == difference[0]
    small = shrink(case, alike)
    difference = twin.compare([small], sandbox)[0] or difference
    twin.counts.clear()
    twin.counts.update(counts)
    print(f"seed {seed}, case {at}")
    for entry in small["tree"]:
        print(f"  tree {json.dumps(entry)}")
    for call in small["calls"]:
        print(f"  call {json.dumps(call)}")
    call, native, ours, what = difference
    print(f"  {call} {ascii(what)}\n    natively   {native}\n    in sandbox {ours}")
    print(f"  MODBOX_SEED={seed} cargo test --locked -p modbox --test oracle twin_python")


if __name__ == "__main__":
    sys.exit(main())
