#!/usr/bin/env python3
"""The twin test of tasks: random tasks on random small trees, by ansible-core's modules and by what stands for them.

    VENV/bin/python tests/oracle/twin_modules/run.py --modbox target/debug/modbox --library DIR --collections DIR --work DIR --cases 100

`pairs.py` has the sides. Each task runs on equal trees at the same path: unconfined by ansible-core, then by modbox with the folder granted
(`folder`), and by modbox with nothing but what its arguments name (`arguments`). Outcomes, results where both succeed, and trees are
compared. A difference that no row of the pair's table matches is an error. It is shrunk, and printed with its seed and a command.

A task that modbox refuses for want of a grant, and that leaves everything as it was, is no difference in the form `arguments`. One
whose result says by a warning what it did not see, or what is gone, is none in any form.
"""

import argparse
import collections
import json
import os
import shlex
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import archives
import compare
import features
import fixed
import generate
import pairs
import shrink
import sides
import table
import trees
import web_server
from modules import archive as packed

# The arguments whose words may be paths.
COMMAND_LINES = {"cmd", "_raw_params"}

# The failures that are shrunk and printed.
SHOWN = 5


def rooted(value, root):
    if isinstance(value, str):
        return root + value[4:] if value == "ROOT" or value.startswith("ROOT/") else value
    if isinstance(value, list):
        return [rooted(item, root) for item in value]
    return value


class Twin:
    def __init__(self, options, work, table, counts):
        self.options = options
        self.granted = os.path.join(work, "g")
        self.root = os.path.join(self.granted, "t")
        os.makedirs(self.granted)
        sys.path.insert(0, options.collections)
        if options.user is not None:
            for path in (work, self.granted):
                os.chown(path, options.user, options.user)
        self.pair = pairs.make(options.pair, options, work, self.granted, list(generate.TASKS))
        self.table = table
        self.counts = counts

    def decode(self, path, contents):
        """What a file holds. Archives that a task made are compared by their members."""
        made = self.task["module"] == "archive" and not os.path.basename(path).startswith("packed")
        found = packed.decode(contents) if made and contents[:2] in (b"\x1f\x8b", b"PK", b"BZ", b"\xfd7") or made and contents[257:262] == b"ustar" else None
        return trees.digest(contents) if found is None else [self.without_itself(path, member) for member in found]

    def without_itself(self, path, member):
        """A member of an archive; of the archive itself, which is then half written, by its name alone."""
        name = member[0] if isinstance(member, list) else ""
        if os.path.basename(name) != os.path.basename(path):
            return member
        folders = [self.granted, *(os.path.join(where, folder) for where, inner, _ in os.walk(self.granted) for folder in inner)]
        is_itself = any(os.path.realpath(os.path.join(folder, name)) == path for folder in folders)
        return [name, "itself"] if is_itself else member

    def side(self, run, case, before=None):
        check = case["task"]["check"] and self.options.pair not in pairs.UNCHECKED
        arguments = rooted_arguments(case["task"]["arguments"], self.root)
        if "url" in arguments:
            arguments["url"] = arguments["url"].replace("SERVER", f"http://{self.options.server}")
        self.task = {**case["task"], "check": check, "arguments": arguments}
        if before is None:
            trees.make(self.root, case["tree"], self.options.user)
            before = trees.seen(self.granted, self.decode)
        trees.make(self.root, case["tree"], self.options.user)  # looking changes times of access
        found = run(self.task)
        return found, before, trees.seen(self.granted, self.decode)

    def differences(self, case, forms=None):
        """What no row of the table matches, by the form of grants."""
        has, found, before, rights = features.of(case, self.options.user), {}, None, {}
        for form in forms or self.pair.forms:
            how = self.pair.forms[form]
            if how.right not in rights:
                theirs, before, tree = self.side(how.right.run, case, before)
                rights[how.right] = theirs, tree
            theirs, tree = rights[how.right]
            ours, _, after = self.side(how.other.run, case, before)
            self.counts["runs"] += 1
            self.counts["succeeded"] += not ours["failed"] and not theirs["failed"]
            if how.may_refuse and compare.is_refusal(ours, before, after):
                self.counts["refused"] += 1
                continue
            if compare.is_said(ours):
                self.counts["said"] += 1
                continue
            all_lines = compare.differences(self.task, theirs, ours, before, tree, after, self.pair.right)
            lines = [line for line in all_lines if not self.table.knows(case, has, form, line)]
            self.counts["known"] += bool(all_lines) and not lines
            if lines:
                found[form] = lines
        return found

    def fails_alike(self, form, line):
        """Whether a case fails as another did: with a difference that starts alike."""
        start = line[:24]
        return lambda case: any(other.startswith(start) for other in self.differences(case, [form]).get(form, []))


def rooted_arguments(arguments, root):
    found = {key: rooted(value, root) for key, value in arguments.items()}
    for key in COMMAND_LINES & found.keys():
        found[key] = found[key].replace("ROOT/", root + "/").replace("ROOT", root)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modbox", required=True)
    parser.add_argument("--pair", choices=list(pairs.PAIRS), default="components")
    parser.add_argument("--library", help="the folder with modbox's components")
    parser.add_argument("--collections", required=True, help="the folder that has `ansible_collections`")
    parser.add_argument("--work", required=True, nargs="+", help="empty folders, among which cases are divided")
    parser.add_argument("--table", help="another table of known differences")
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one module")
    parser.add_argument("--all-rows", action="store_true", help="a row that nothing matches is an error")
    parser.add_argument("--user", type=int, help="the number of the user that runs the tasks, if this is root")
    parser.add_argument("--survey", action="store_true", help="print every difference in one line, and shrink nothing")
    options = parser.parse_args()
    os.umask(0o022)
    options.server = web_server.servers()[0].removeprefix("http://") if options.pair == "components" else None
    for name in ("modbox", "library", "collections"):
        given = getattr(options, name)
        setattr(options, name, given and os.path.realpath(given))
    options.work = [os.path.realpath(work) for work in options.work]
    if options.user is not None:
        sides.show_homes([os.path.dirname(HERE), sys.prefix, sys.base_prefix, options.modbox, options.library, options.collections, *options.work])
    left_out = pairs.LEFT_OUT.get(options.pair, ())
    generate.TASKS = {name: make for name, make in generate.TASKS.items() if name not in left_out and options.only in (None, name)}
    rows, counts = table.Table(options.table and os.path.realpath(options.table) or pairs.table(options.pair)), collections.Counter()
    twins = [Twin(options, os.path.realpath(work), rows, counts) for work in options.work]
    generator = generate.Generator(options.seed)
    failed = 0
    fixed_cases = pairs.FIXED.get(options.pair, fixed.CASES)
    known = [("fixed", case) for case in fixed_cases if case["task"]["module"] in [*generate.TASKS, *pairs.OWN]]
    for at, (number, case) in enumerate(known + [(number, generator.case()) for number in range(options.cases)]):
        twin = twins[at % len(twins)]
        counts["cases"] += 1
        for form, lines in twin.differences(case).items():
            failed += 1
            if options.survey:
                print(number, case["task"]["module"], form, sorted(features.of(case, options.user)), json.dumps(case["task"]["arguments"]), lines[:3])
            elif failed <= SHOWN:
                show(twin, number, case, form, lines)
    # A process of ansible-core's that was forked later has the pipes to all that were started before.
    for side in sorted((side for twin in twins for side in twin.pair.sides()), key=lambda side: isinstance(side, sides.Modbox)):
        side.end()
    # Rows for what a user may not do are those of users other than root.
    unused = [row for row in rows.rows if not row["used"] and (options.user is not None or not row["feature"].startswith("denied"))]
    if options.all_rows and not options.only:
        failed += len(unused)
        for row in unused:
            print(f"no case matches the row in line {row['line']} of the table: {row['reason']}")
    print(json.dumps({**counts, "different": failed, "unused_rows": len(unused)}))
    return 1 if failed else 0


def show(twin, number, case, form, lines):
    small = shrink.shrink(case, twin.fails_alike(form, lines[0]))
    lines = twin.differences(small, [form]).get(form, lines)
    print(f"seed {twin.options.seed}, case {number}, grants by {form}: {small['task']['module']}")
    for entry in small["tree"]:
        print(f"  tree {json.dumps(entry)}")
    print(f"  task {json.dumps(small['task'])}")
    for line in lines:
        print(f"  {line}")
    flags = [f"--{key}" for key in ("check", "diff") if small["task"][key]]
    words = ["modbox", "run", *twin.pair.forms[form].words, *flags, small["task"]["module"], "--args", json.dumps(rooted_arguments(small["task"]["arguments"], twin.root))]
    print(f"  {shlex.join(words)}")
    print(f"  MODBOX_SEED={twin.options.seed} cargo test --locked -p modbox --test oracle twin_modules")


if __name__ == "__main__":
    sys.exit(main())
