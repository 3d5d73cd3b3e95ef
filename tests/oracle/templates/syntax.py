#!/usr/bin/env python3
"""Compares what a program takes for templates with what ansible-core's Jinja takes for them, and the values.

    VENV/bin/python tests/oracle/templates/syntax.py [--seed N] [--cases N] [--show N] PROGRAM [ARG…]

The program is that of `compare.py`. The texts are about the language: operators without parentheses, tests and filters,
literals, targets, statements, white space and its control, options of the header; and the same texts damaged. A case is equal if
both refuse the text, or both take it and have the same value or an error each. No difference is tolerated, but for `EXPECTED`.
"""

import argparse
import json
import random
import re
import signal
import sys
import warnings

warnings.simplefilter("ignore")

import compare
import engine
import syntax_cases

from ansible._internal._datatag._tags import TrustedAsTemplate
from ansible._internal._templating._engine import TemplateEngine, TemplateOptions
from ansible._internal._templating._jinja_bits import AnsibleEnvironment, _TemplateCompileContext

# Reasons why a case may differ: what the words of modbox's error are, or what is in the text.
EXPECTED = [
    (
        "integers beyond 128 bits are not calculated with",
        lambda text, theirs, ours: "the integer is too large" in ours.get("error", ""),
    ),
    (
        "there are no complex numbers",
        lambda text, theirs, ours: "is complex" in ours.get("error", ""),
    ),
    (
        "an `if` without `else` that does not hold is an empty text for filters and tests, and not an object of its own",
        lambda text, theirs, ours: "the inline if-expression" in theirs.get("error", ""),
    ),
    (
        "the test `in` compares a dict or tuple without reading all of it, and so does not meet an undefined item",
        lambda text, theirs, ours: re.search(r"\bis\s+(not\s+)?in\b", text)
        and re.search("has no (attribute|element)|is undefined", theirs.get("error", ""))
        and "value" in ours,
    ),
    (
        "`loop` is known in each loop; Jinja leaves it out where a `with` before its use sets that name",
        lambda text, theirs, ours: re.search(r"with\W[^%]*\bloop\s*=", text) and "'loop' is undefined" in theirs.get("error", ""),
    ),
    (
        "names of characters are not known",
        lambda text, theirs, ours: "names of characters" in ours.get("error", ""),
    ),
    (
        "Jinja's compiler fails with a name in arguments of a filter of a `set` block",
        lambda text, theirs, ours: "Tried to resolve a name to a reference" in theirs.get("error", ""),
    ),
    (
        "a number that is larger than any float is refused at once, and not where it is reached",
        lambda text, theirs, ours: re.search(r"the number \S+ is too large", ours.get("refused", "")),
    ),
    (
        "the text of a method has Python's address of it, or its class",
        lambda text, theirs, ours: re.search("<bound method|<built-in", theirs.get("value", "")),
    ),
    (
        "what is printed behind `extends` is refused where Python cannot compile it; Jinja leaves it out before",
        lambda text, theirs, ours: "extends" in text and re.search("only subscript|argument repeated", ours.get("refused", "")),
    ),
    (
        "an unknown filter or test in the condition of an `if` is refused at once, and not where it is reached",
        lambda text, theirs, ours: re.search(r"\bif\b", text) and re.search("^Syntax.*No (test|filter) named", ours.get("refused", "")),
    ),
    (
        "an empty prefix of lines is refused",
        lambda text, theirs, ours: "must not be empty" in ours.get("refused", ""),
    ),
    (
        "the reader does not end within the time limit",
        lambda text, theirs, ours: "the case takes too long" in theirs.get("error", ""),
    ),
]

ENVIRONMENT = AnsibleEnvironment()
VARIABLES = engine.load(json.dumps(syntax_cases.VARIABLES))


def refusal(case):
    """Returns why the text is refused before anything runs, or nothing."""
    try:
        if case["kind"] == "expression":
            ENVIRONMENT.compile_expression(case["text"], False)
            return None
        text, environment = ENGINE._create_overlay(case["text"], TemplateOptions.DEFAULT.overrides)
        with _TemplateCompileContext(escape_backslashes=True):
            environment.compile(text)
        return None
    except TimeoutError:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def answer(case):
    """Returns `{"refused"}`, `{"value"}` or `{"error"}`, each with a text."""
    refused = refusal(case)
    if refused is not None:
        return {"refused": refused}
    text = TrustedAsTemplate().tag(case["text"])
    templates = TemplateEngine(engine.LOADER, variables=VARIABLES)
    try:
        result = templates.evaluate_expression(text) if case["kind"] == "expression" else templates.template(text)
        return {"value": repr(engine.plain(result))}
    except TimeoutError:
        raise
    except Exception as error:
        return {"error": str(error) or type(error).__name__}


ENGINE = TemplateEngine(engine.LOADER, variables=VARIABLES)


def timed(case):
    signal.setitimer(signal.ITIMER_REAL, 10, 1)
    try:
        return answer(case)
    except TimeoutError as error:
        return {"error": str(error)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def classified(ours):
    """Returns an answer of the program in the words of `answer`."""
    error = ours.get("error")
    if error is not None and error.startswith("Syntax error in"):
        return {"refused": error}
    return ours


def expected(case, theirs, ours):
    return next((reason for reason, applies in EXPECTED if applies(case["text"], theirs, ours)), None)


def same(theirs, ours):
    kinds = [next(iter(answer)) for answer in (theirs, ours)]
    return kinds[0] == kinds[1] and (kinds[0] != "value" or theirs["value"] == ours["value"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, compare.interrupt)
    generator = syntax_cases.Generator(random.Random(options.seed))
    cases = [generator.case() for _ in range(options.cases)]
    variables = json.dumps(syntax_cases.VARIABLES)
    asked = [{"kind": case["kind"], "text": json.dumps(case["text"]), "variables": variables} for case in cases]
    answers = [classified(answer) for answer in compare.ask(options.program, asked)]
    different, reasons, counts, words = 0, {}, {"refused": 0, "value": 0, "error": 0}, 0
    for case, ours in zip(cases, answers):
        theirs = timed(case)
        counts[next(iter(theirs))] += 1
        if "refused" in theirs and "refused" in ours:
            words += theirs["refused"].split(": ", 1)[-1] in ours["refused"]
        if same(theirs, ours):
            continue
        reason = expected(case, theirs, ours)
        if reason:
            reasons[reason] = reasons.get(reason, 0) + 1
            continue
        different += 1
        if different <= options.show:
            print(f"{case['kind']} {case['text']!r}\n  {theirs}\n  {ours}")
    for reason, count in sorted(reasons.items()):
        print(f"{count} differ as expected: {reason}")
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    print(f"seed {options.seed}: {len(cases)} compared, {kinds} ({words} refused in the same words)")
    print(f"{different} different, {sum(reasons.values())} expected")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
