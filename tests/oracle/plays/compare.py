#!/usr/bin/env python3
"""Runs the same plays by ansible-playbook and by `modbox play`, and compares what they do.

    python tests/oracle/plays/compare.py --modbox PROGRAM --work FOLDER tests/plays/cases/NAME ...

Each folder has a `play.yml`. It is copied to the same place for each side, so that all paths are the same. The modes: plainly
and once more in the same place, `--check`, `--check --diff`, and with the tags of the play. What must agree: each event of tasks and
items with its status and result, what a play prints of its registered variables, the recap, the exit status, what is written for
people, and the whole tree with contents, modes, owners and links. What may differ is in `normal.py`.

Comments at the beginning of a play say more:

    # options: -e x=1       options of both programs, in all modes
    # tagged: --tags a,b    options of a mode of its own; may occur several times
    # grants: --allow-net … options of modbox

Differences are printed; the exit status is 1 if there is one.
"""

import argparse
import contextlib
import difflib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True  # nothing shall lie beside the sources
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import ansible_side
import machine
import normal

# Exit statuses of ansible-playbook, and of modbox for the same.
EXITS = {0: {0}, 2: {1, 3, 4, 5, 6}, 4: {2}, 1: {1, 2}}
# The sides of modbox: which modules it prefers, and whether the rare modes are compared, too.
PREFERENCES = {"component": True, "classic": False}
# How many characters of a difference are shown.
SHOWN = 2000


def lines(value):
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def difference(theirs, ours):
    found = difflib.unified_diff(theirs, ours, "ansible", "modbox", lineterm="", n=4)
    text = "\n".join(line if len(line) < 600 else line[:600] + "…" for line in found)
    return text if len(text) < SHOWN else text[:SHOWN] + "\n… and more"


def compare_events(theirs, ours):
    """Pairs the events, and returns the first differences."""
    names = [[f"{event['event']} {event.get('task') or event.get('play') or event.get('handler') or ''}" for event in side] for side in (theirs, ours)]
    if names[0] != names[1]:
        yield "the order of events differs\n" + difference(*names)
    matcher = difflib.SequenceMatcher(None, *names, autojunk=False)
    for theirs_at, ours_at, size in matcher.get_matching_blocks():
        for one, other in zip(theirs[theirs_at:theirs_at + size], ours[ours_at:ours_at + size]):
            if "check_mode" not in one:
                # Ansible's event has the template, not its value.
                other.pop("check_mode", None)
            if one != other:
                yield f"{names[0][theirs_at]}\n" + difference(lines(one), lines(other))
            theirs_at += 1


def run(play, place, ansible, prefer, whole):
    """Yields the mode and the text of each difference."""
    for mode, runs in play.modes(whole):
        expected = ansible.results(play, mode, runs)
        place.prepare(play)
        if not expected[0]["events"]:
            yield mode, f"Ansible does not run it: {expected[0]['errors'][:SHOWN]}"
            return
        for number, options in enumerate(runs):
            where = mode if number == 0 else f"{mode}, run {number + 1}"
            theirs = expected[number]
            ran = place.modbox_run(play, options, prefer, "jsonl")
            try:
                events = [json.loads(line) for line in ran.stdout.splitlines()]
            except ValueError:
                events = []
                yield where, f"no JSON lines: {ran.stdout[:SHOWN]}"
            if ran.returncode not in EXITS.get(theirs["exit"], ()):
                yield where, f"exit {theirs['exit']} and {ran.returncode}: {ran.stderr[:SHOWN]}{theirs['errors'][:SHOWN]}"
                if not events:
                    return
            for text in compare_events(normal.events(theirs["events"]), normal.events(events)):
                yield where, text
            left, expected_tree = normal.tree(machine.tree(place.folder)), normal.tree(theirs["tree"])
            if left != expected_tree:
                yield where, "the tree differs\n" + difference(lines(expected_tree), lines(left))
        if prefer == "component":
            place.prepare(play)
            ran = place.modbox_run(play, runs[0], prefer, "human")
            theirs, ours = normal.output(expected[0]["output"]), normal.output(ran.stdout)
            if theirs != ours:
                yield mode, "the output differs\n" + difference(theirs, ours)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plays", nargs="+")
    parser.add_argument("--modbox", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--prefer", default="component,classic")
    parser.add_argument("--kept", help="folder in which what ansible-playbook does is kept for the next time")
    asked = parser.parse_args()
    place = machine.Place(os.path.realpath(asked.work), os.path.realpath(asked.modbox))
    count = different = 0
    with contextlib.closing(ansible_side.Ansible(place, asked.kept)) as ansible:
        for folder in asked.plays:
            play = machine.Play(os.path.realpath(folder))
            for prefer in asked.prefer.split(","):
                count += 1
                for mode, text in run(play, place, ansible, prefer, PREFERENCES[prefer]):
                    different += 1
                    print(f"=== {play.name}, {prefer}, {mode}: {text}\n")
    print(f"{count} plays, {different} differences")
    return different > 0


if __name__ == "__main__":
    sys.exit(main())
