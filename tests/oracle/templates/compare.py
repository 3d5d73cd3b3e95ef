#!/usr/bin/env python3
"""Compares a program that evaluates templates with ansible-core's own `TemplateEngine`.

    VENV/bin/python tests/oracle/templates/compare.py [--seed N] [--cases N] [--show N] PROGRAM [ARG…]

The program is a filter: one JSON object a line in, `{"kind", "text", "variables"}`, and one a line out, `{"value"}` with
Python's `repr` of the result, or `{"error"}`. Each difference is printed, and the exit status is 1 if there are too many.

What is compared: the value with its type, and whether there is an error. Words of errors are compared only where something is
undefined. The exceptions are in `EXPECTED`, each with its reason.
"""

import argparse
import json
import random
import re
import signal
import subprocess
import sys
import time

import engine
import generate

# The share of cases that may differ without a reason in `EXPECTED`, and with or without one if there are many cases.
TOLERATED = 0.001

# The number of cases from which on chance does not matter.
MANY = 50_000

EXPECTED = [
    (
        "the text of a function or method has Python's address of it, or its class",
        lambda case, theirs, ours: any(words in theirs.get("value", "") for words in ("<function _", "<bound method", "<built-in")),
    ),
    (
        "`count` of a list of a variable does not find items in ansible-core that were not read yet, which is a defect of it",
        lambda case, theirs, ours: ".count(" in case,
    ),
    (
        "the text of a condition must be in a variable, and not be chosen by a template",
        lambda case, theirs, ours: "Encountered untrusted" in ours.get("error", ""),
    ),
    (
        "ansible-core does not end within the time limit",
        lambda case, theirs, ours: "the case takes too long" in theirs.get("error", ""),
    ),
    (
        "a failure in a block that `set` captures ends the template, even if nothing uses the captured text",
        lambda case, theirs, ours: re.search(r"set \w+ %\}", case) and "value" in theirs and "was found" in ours.get("error", ""),
    ),
    (
        "an `if` without `else` that does not hold is an error where its value is used, also in a macro or in another `if`",
        lambda case, theirs, ours: " if " in case and "value" in theirs and re.search("(value|item) is undefined", ours.get("error", "")),
    ),
    (
        "an `if` without `else` that does not hold is an empty text for filters and tests, and not an object of its own",
        lambda case, theirs, ours: len(re.findall(r"[^%-] if ", case)) > len(re.findall(r"[^%-] else ", case)),
    ),
    (
        "`zip` reads whole lists before it joins them, and so meets items that fail first",
        lambda case, theirs, ours: "zip(" in case and "error" in {**theirs, **ours},
    ),
    (
        "a dict with a tuple for a key fails in ansible-core, which makes a list of the tuple",
        lambda case, theirs, ours: "unhashable type: 'list'" in theirs.get("error", ""),
    ),
    (
        "a range that a macro gives, or that is an item of a list, is not a list for what reads it",
        lambda case, theirs, ours: "range(" in case and re.search("macro|flatten", case) and "value" in theirs,
    ),
    (
        "`bool` of a dict or list reads its items, and not those of containers in it",
        lambda case, theirs, ours: "bool" in case and "error" in theirs and ours.get("value") == "False",
    ),
    (
        "a filter or test that gets a tuple does not notice an undefined item in it",
        lambda case, theirs, ours: re.search(r"is (not )?in\(\(", case) and "error" in theirs,
    ),
]


def expected(case, theirs, ours):
    """Returns the reason why a case may differ, if there is one."""
    for reason, applies in EXPECTED:
        if applies(case["text"] + case["variables"], theirs, ours):
            return reason
    return None


def same(theirs, ours):
    if "value" in theirs or "value" in ours:
        return theirs.get("value") == ours.get("value")
    return "error" in theirs and "error" in ours


def interrupt(*_):
    raise TimeoutError("the case takes too long")


def ask(command, cases):
    """Returns the program's answers."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    if len(answers) != len(cases):
        sys.exit(f"the program ended early, at {cases[len(answers)]}: {ran.stderr}")
    return answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, interrupt)
    generator = generate.Generator(random.Random(options.seed))
    cases = [generator.case() for _ in range(options.cases)]
    start = time.monotonic()
    answers = ask(options.program, cases)
    middle = time.monotonic()
    different, reasons, errors, words = 0, {}, 0, 0
    for case, ours in zip(cases, answers):
        # Some make numbers or lists so large that Python would never end.
        # Ansible's code may swallow one interruption, so that there are more.
        signal.setitimer(signal.ITIMER_REAL, 10, 1)
        theirs = engine.answer(case)
        signal.setitimer(signal.ITIMER_REAL, 0)
        errors += "error" in theirs
        words += "error" in theirs and theirs == ours
        if same(theirs, ours):
            continue
        reason = expected(case, theirs, ours)
        if reason:
            reasons[reason] = reasons.get(reason, 0) + 1
            continue
        different += 1
        if different <= options.show:
            print(f"{case['kind']} {json.loads(case['text'])!r}\n  with {case['variables']}\n  {theirs}\n  {ours}")
    for reason, count in sorted(reasons.items()):
        print(f"{count} differ as expected: {reason}")
    seconds = f"{middle - start:.1f} s and {time.monotonic() - middle:.1f} s"
    print(f"seed {options.seed}: {len(cases)} compared, {errors} errors ({words} in the same words), in {seconds}")
    total = different + sum(reasons.values())
    equal = 100 * (len(cases) - total) / max(len(cases), 1)
    print(f"{different} different, {total - different} expected, {equal:.3f} % strictly equal")
    counted = total if len(cases) >= MANY else different
    sys.exit(counted > len(cases) * TOLERATED)


if __name__ == "__main__":
    main()
