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

# The share of cases that may differ without a reason in `EXPECTED`.
TOLERATED = 0.001

EXPECTED = [
    (
        "the text of a function or method has Python's address of it, or its class",
        lambda case, theirs, ours: any(words in theirs.get("value", "") for words in ("<function _", "<bound method", "<built-in")),
    ),
    (
        "minijinja's parser takes `-x` after a test for its argument",
        lambda case, theirs, ours: re.search(r"is (not )?\w+ -", case),
    ),
    (
        "`count` and `index` of a list of a variable do not find items in ansible-core that were not read yet",
        lambda case, theirs, ours: re.search(r"\.(count|index)\(", case),
    ),
    (
        "the text of a condition must be in a variable, and not be chosen by a template",
        lambda case, theirs, ours: "Encountered untrusted" in ours.get("error", ""),
    ),
    (
        "a name that a template sets later is undefined for Jinja in blocks before that, even if a variable has it",
        lambda case, theirs, ours: "is undefined" in theirs.get("error", "") and re.search(r"set \w+", case),
    ),
    (
        "a loop of templates ends the evaluation, even if nothing uses its value",
        lambda case, theirs, ours: "Recursive loop detected" in ours.get("error", ""),
    ),
    (
        "ansible-core does not end within the time limit",
        lambda case, theirs, ours: "the case takes too long" in theirs.get("error", ""),
    ),
    (
        "filters of text get the items of a range, and not the text of it",
        lambda case, theirs, ours: "RANGE(" in theirs.get("value", ""),
    ),
    (
        "`copy` of a container reads all of its items, one of which fails",
        lambda case, theirs, ours: ".copy()" in case and "error" in ours and "value" in theirs,
    ),
    (
        "a comparison reads no more of two containers than it needs, and so does not meet an item that fails",
        lambda case, theirs, ours: re.search(r"==|is eq", case) and "error" in theirs and ours.get("value") == "False",
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
        "an undefined right side of `%` is an error, even for a text without conversions",
        lambda case, theirs, ours: " % " in case and "value" in theirs and "has no attribute" in ours.get("error", ""),
    ),
    (
        "`caller` comes last among the named arguments of a macro",
        lambda case, theirs, ours: "kwargs" in case and "'caller': <Macro" in theirs.get("value", ""),
    ),
    (
        "tests of text see the items of a range, and not the text of it",
        lambda case, theirs, ours: re.search(r"range\(.* is (not )?(lower|upper)", case),
    ),
    (
        "`bool` of a list or dict compares it with words, which reads items that may fail",
        lambda case, theirs, ours: "bool" in case and "error" in theirs and ours.get("value") == "False",
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
    print(f"{different} different, {sum(reasons.values())} expected")
    sys.exit(different > len(cases) * TOLERATED)


if __name__ == "__main__":
    main()
