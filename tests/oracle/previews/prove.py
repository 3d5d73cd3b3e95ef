#!/usr/bin/env python3
"""Proves that previews tell the truth: what they list is what a real run does, and they leave no trace.

    python tests/oracle/previews/prove.py --modbox PROGRAM --python PYTHON --modules FOLDER --own FOLDER --work FOLDER

For each case, a preview and then a real run are made in the same tree. After the preview, all of the tree must be as before: bytes,
modes, owners, attributes, both times and the numbers of inodes. The list of the preview is applied by `applier.py` to what was in
the tree before; the outcome must be what the real run leaves, except for paths that the preview itself calls incomplete. The module's status
and its claim must be the same, and a claim must not be called wrong, except for known ones. Then modules that lie are run: what they
do must be named.

As root, all is done as root and as an ordinary user, who has copies of the small trees. With `--plain`, the trees are such that an
ordinary user has overlays of them. Each difference is printed; the exit status is 1 if there is one. The names of
cases that contain a text given by `--only` are run alone.
"""

import argparse
import concurrent.futures
import contextlib
import http.server
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True  # nothing shall lie beside the sources
sys.path.insert(0, HERE)
import applier
import cases
import lies
import manifest
import stand_ins
import start_tree
from side import RANDOM, Side, is_reachable

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Runs at the same time.
PARALLEL = 3
SUCCESS = ("ok", "changed", "skipped")
# What `complete` allows the claim to be.
FAIR = ("agrees", "unobservable", None)


class Place:
    """The tree of a case, and the folders in place of the machine's."""

    def __init__(self, side, number, case):
        self.folder = os.path.join(side.place, "cases", str(number))
        self.tree = os.path.join(self.folder, "tree")
        self.machine = os.path.join(self.folder, "machine")
        # Each granted directory: what it is called by the module, and where it is.
        self.granted = [(self.tree, self.tree)]
        self.granted += [(stand_ins.PLACES[name], os.path.join(self.machine, name)) for name in case.machine]
        start_tree.make(self.tree, case.extra, side.plain)
        if case.machine:
            stand_ins.make(self.machine, case.machine)
        if side.user is not None:
            for _, place in self.granted:
                start_tree.give(place, side.user)

    def options(self):
        return [word for name, _ in self.granted for word in ("--allow-write", name)]

    def of(self, look):
        """Returns what a function finds in each granted directory, by whole paths as the module names them."""
        found = {}
        for name, place in self.granted:
            found.update({os.path.join(name, path) if path else name: entry for path, entry in look(place).items()})
        return found

    def links(self):
        """Returns the sets of names of one file, by whole paths."""
        groups = ((name, group) for name, place in self.granted for group in manifest.links(place))
        return {tuple(os.path.join(name, path) for path in group) for name, group in groups}

    def listed(self, changes, excused):
        """Returns the changes of each granted directory, with relative paths, and whether they are excused."""
        split = {name: [] for name, _ in self.granted}
        for change in changes:
            root = next(name for name in split if change["path"] == name or change["path"].startswith(name + "/"))
            relative = {key: change[key][len(root) + 1:] for key in ("path", "from") if key in change}
            split[root].append({**change, **relative, "excused": change.get("from", change["path"]) in excused})
        return split


def compared(case, states):
    """The states without what is another each time."""
    found = {}
    for path, entry in states.items():
        if case.volatile and re.search(case.volatile, path):
            entry = {**entry, "sha256": "", "size": 0}
        found[case.normal(path)] = entry
    return found


def differences(expected, real, excused):
    """Yields each path whose state is not what the preview told, unless the preview itself says that it cannot tell."""
    for path in sorted({*expected, *real}):
        one, other = expected.get(path), real.get(path)
        if one != other and not any(path == part or path.startswith(part + "/") for part in excused):
            yield f"{path}: told {one}\n        is {other}"


def check_list(place, before, effect, excused):
    """Applies the changes of a preview. Returns what must be there after a real run."""
    told = {}
    for (name, changes) in place.listed(effect["changes"], excused).items():
        own = {path[len(name) + 1:]: entry for path, entry in before.items() if path == name or path.startswith(name + "/")}
        for path, entry in applier.apply(own, changes).items():
            told[os.path.join(name, path) if path else name] = entry
    counted = applier.totals(effect["changes"])
    if counted != {kind: effect["totals"][kind] for kind in counted}:
        raise applier.Unfit(f"the totals are {effect['totals']}, and of the list {counted}")
    return told


def after_renames(name, changes):
    """The name that a path has after the renames of folders that the report tells."""
    renames = [(change["from"], change["path"]) for change in changes if "from" in change]
    for old, new in sorted(renames, key=lambda rename: -len(rename[0])):
        if name.startswith(old + "/"):
            return new + name[len(old):]
    return name


def check_links(before, after, effect):
    """Yields the sets of names of one file that the report does not tell, or tells otherwise. Names in a folder that is renamed
    stay names of one file, and are not told again."""
    before = {tuple(sorted(after_renames(name, effect["changes"]) for name in group)) for group in before}
    told = {tuple(sorted(group)) for group in effect.get("links", [])}
    for group in sorted(told - after):
        yield f"told as names of one file, and are not: {group}"
    for group in sorted(after - before - told):
        yield f"names of one file, and not told: {group}"
    changed = [change[key] for change in effect["changes"] for key in ("path", "from") if key in change]
    grown = {group for group in before - after if any(set(group) <= set(other) for other in after)}
    for group in (before - after) - grown:
        if not any(path == name or path.startswith(name + "/") for path in group for name in changed):
            yield f"names of one file before, and no change of them: {group}"


def claims(case, preview, direct, is_changed):
    """Yields what the preview says otherwise than the real run, of the module's status and claim."""
    effect, said = preview["effect"], direct["result"].get("changed")
    success = direct["status"] in SUCCESS
    ends = "failed" if not success else "changed" if said else "ok"
    if ends != case.ends:
        yield f"it ends with {ends} and not {case.ends}: {str(direct['result'])[:700]}"
    if case.flagged:
        return
    if effect["changed"] != is_changed:
        yield f"changed is {effect['changed']}, and of the real run {is_changed}"
    if (preview["status"] in SUCCESS) != success:
        yield f"the preview ends with {preview['status']} and the real run with {direct['status']}: {str(preview['result'])[:700]}"
    claimed = said if success else None
    if effect["claimed"] != claimed:
        yield f"it claims {claimed}, and the preview has {effect['claimed']}"
    if success and (preview["status"] == "changed") != is_changed:
        yield f"the status is {preview['status']}, and the real run changed something: {is_changed}"
    claim = effect.get("claim")
    if claim == "agrees" and said != is_changed and not effect["totals"]["times"]:
        yield f"the claim {said} is said to agree, and the real run changed something: {is_changed}"
    if case.claim == "any":
        return
    if case.claim != "agrees" and claim != case.claim or case.claim == "agrees" and claim not in FAIR:
        yield f"the claim is called {claim} and not {case.claim}"


def prove(side, number, case):
    """Runs a case. Returns the faults, and whether the preview called itself incomplete."""
    place = Place(side, number, case)
    faults = []
    module = side.path_of(case)
    args = case.filled(place.tree, side.server)
    options = [*(place.options() if case.granted else ()), *case.options(place.tree, side.server)]
    traces, before, links = place.of(manifest.traces), place.of(manifest.states), place.links()
    preview = side.run(module, args, [*options, "--preview", *case.preview], place.machine, case.machine)
    if place.of(manifest.traces) != traces:
        faults.extend("a trace: " + text for text in differences(traces, place.of(manifest.traces), ()))
    direct = side.run(module, args, options, place.machine, case.machine)
    real = place.of(manifest.states)
    effect, said = preview.get("effect"), preview["result"].get("msg", "")
    if effect is None:
        if not case.refused or case.refused not in said:
            faults.append(f"no preview: {said}")
        return faults, True
    excused = {remark["path"] for remark in effect.get("incomplete", [])}
    # What cannot be told of an entry cannot be told where it is moved to.
    excused |= {change["path"] for change in effect["changes"] if change.get("from") in excused}
    try:
        told = check_list(place, before, effect, excused)
        faults.extend(differences(compared(case, told), compared(case, real), excused))
    except applier.Unfit as unfit:
        faults.append(str(unfit))
    faults.extend(check_links(links, place.links(), effect))
    faults.extend(claims(case, preview, direct, real != before))
    if (effect["complete"], bool(excused)) != (not case.flagged, case.flagged):
        faults.append(f"complete is {effect['complete']} with {effect.get('incomplete')}")
    if case.ends == "changed" and case.claim == "agrees" and real == before and not effect["totals"]["times"]:
        faults.append("the case changes nothing")
    shutil.rmtree(place.folder)
    return faults, bool(excused)


def attempt(side, number, name, function, *args):
    try:
        return name, *function(side, number, *args)
    except Exception:  # one broken case must not hide the others
        return name, [traceback.format_exc()], False


class Served(http.server.BaseHTTPRequestHandler):
    """A server with one answer."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "7")
        self.end_headers()
        self.wfile.write(b"served\n")

    def log_message(self, *_):
        """Nothing is logged."""


def serve():
    """Starts the server, and returns its `host:port`."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Served)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "127.0.0.1:%d" % server.server_port


def sides(asked):
    """The users who run the cases."""
    names = ["root", "user"] if os.geteuid() == 0 else ["user"]
    for name in asked.users.split(",") if asked.users else names:
        with contextlib.ExitStack() as stack:
            place = os.path.join(os.path.realpath(asked.work), name)
            if name == "user" and os.geteuid() == 0 and not is_reachable(os.path.dirname(place)):
                place = stack.enter_context(tempfile.TemporaryDirectory(prefix="previews-"))
            yield Side(name, place, asked.modbox, asked.python, asked.modules, asked.own, asked.plain)


def work(side, asked, seeds):
    """The names and functions of all that one user runs. All lies are told in each part of the cases."""
    only = asked.only
    all_ = [*cases.classic(), *cases.components(), *cases.random_ones(seeds)]
    for case in all_[asked.seed % asked.parts :: asked.parts]:
        lacked = [name for name in case.needs if shutil.which(name, path=PATH) is None]
        if lacked:
            print(f"{case.name}: not run, for want of {', '.join(lacked)}")
        elif side.name in case.users and only in case.name:
            yield case.name, prove, case
    for lie in lies.LIES:
        if only in lie.name:
            yield f"lie {lie.name}", lies.prove, lie


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("modbox", "python", "modules", "own", "work"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--users", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--plain", action="store_true", help="trees of which an ordinary user has overlays")
    parser.add_argument("--seed", type=int, default=0, help="of the first random edits")
    parser.add_argument("--random", type=int, default=10, help="how many random edits are tried")
    parser.add_argument("--parts", type=int, default=1, help="run one of so many parts of the cases, which --seed chooses")
    asked = parser.parse_args()
    server, summary = serve(), {}
    seeds = range(asked.seed, asked.seed + asked.random)
    for side in sides(asked):
        side.server = server
        summary[side.name] = run_all(side, list(work(side, asked, seeds)))
    print(json.dumps(summary))
    return any(numbers["different"] for numbers in summary.values())


def sort(function, what):
    """The word by which a case is counted."""
    if function is lies.prove:
        return "lies"
    return "random" if what.module == RANDOM else "own" if what.own else "cases"


def run_all(side, all_):
    """Runs everything of one user, prints the faults, and returns the numbers."""
    numbers = {"cases": 0, "own": 0, "random": 0, "lies": 0, "incomplete": 0, "different": 0}
    for _, function, what in all_:
        numbers[sort(function, what)] += 1
    numbers["modules"] = len({what.module for _, function, what in all_ if sort(function, what) == "cases"})
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        started = [pool.submit(attempt, side, number, *one) for number, one in enumerate(all_)]
        for future in concurrent.futures.as_completed(started):
            name, faults, flagged = future.result()
            numbers["incomplete"] += flagged
            numbers["different"] += bool(faults)
            for fault in faults:
                print(f"=== {side.name}, {name}: {fault}")
    return numbers


if __name__ == "__main__":
    sys.exit(main())
