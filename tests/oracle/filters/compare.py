#!/usr/bin/env python3
"""Compares filters and tests with those of ansible-core, which this calls through its template engine.

    VENV/bin/python tests/oracle/filters/compare.py [--seed N] [--cases N] [--only NAME] PROGRAM [ARG…]

PROGRAM answers questions, one JSON object a line: `{"expression", "variables"}` or `{"template", "variables"}`, with `{"value"}` or
`{"error"}`. `cases.py` has the expressions. Every filter and test gets N, each argument of its table at least once, and values of other types. Each difference is printed; the exit status is 1 if there is one.

What is compared: the value, the types of all values in it, the order of keys, and whether there is an error. The texts of errors are not
compared: many of them are Python's. The exceptions are in `PERMITTED`, each as narrow as it can be, with its reason.
"""

import argparse
import datetime
import json
import os
import random
import re
import subprocess
import sys
import time
import warnings

os.environ["TZ"] = "UTC"
time.tzset()
warnings.simplefilter("ignore")

from ansible._internal._datatag._tags import TrustedAsTemplate
from ansible._internal._templating._engine import TemplateEngine
from ansible.plugins.loader import init_plugin_loader
from ansible.utils.display import Display

import cases

LEAST = 16

# Expression, as a regular expression; and the reason why its answer may differ. `same` decides on the two answers if it is given.
PERMITTED = [
    (r"\| (intersect|difference|symmetric_difference|union)\(", "Python's sets have no order", lambda a, b: as_set(a) == as_set(b)),
    (r" is (directory|file|exists|link|link_exists|mount|same_file)\b", "a number is a descriptor to Python, and never a path here",
     lambda a, b: re.search("must be str, not (int|bool)", b.get("error", ""))),
    (r"\| urlsplit", "a false value gives empty bytes in Python", lambda a, b: "must be str" in b.get("error", "")),
    (r"^v\.count\(", "ansible-core's lazy lists count none of the items that were not rendered before",
     lambda a, b: a == {"value": {"t": "int", "v": "0"}}),
    (r"^v\.is_integer\(", "integers have it since Python 3.12",
     lambda a, b: a == {"value": {"t": "bool", "v": True}} and "has no attribute" in b.get("error", "")),
]


def as_set(answer):
    """An answer with the items of its list in order."""
    value = answer.get("value")
    if isinstance(value, dict) and value["t"] == "list":
        return sorted(json.dumps(item) for item in value["v"])
    return answer


def tagged(value):
    """A value with the types of all values in it."""
    if value is None:
        return {"t": "none", "v": None}
    if isinstance(value, bool):
        return {"t": "bool", "v": bool(value)}
    if isinstance(value, int):
        return {"t": "int", "v": str(int(value))}
    if isinstance(value, float):
        return {"t": "float", "v": repr(float(value))}
    if isinstance(value, str):
        return {"t": "str", "v": str(value)}
    if isinstance(value, (list, tuple)):
        return {"t": "list", "v": [tagged(item) for item in value]}
    if isinstance(value, dict):
        return {"t": "dict", "v": [[tagged(key), tagged(item)] for key, item in value.items()]}
    if isinstance(value, datetime.date):
        return {"t": "date", "v": str(value)}
    return {"t": "other", "v": type(value).__name__}


def original(question):
    try:
        engine = TemplateEngine(None, question["variables"])
        if "template" in question:
            return {"value": tagged(str(engine.template(TrustedAsTemplate().tag(question["template"]))))}
        return {"value": tagged(engine.evaluate_expression(TrustedAsTemplate().tag(question["expression"])))}
    except RecursionError:
        raise
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def questions(table, name, form, wanted, chance):
    """Some or all expressions of a filter or test."""
    inputs, arguments = table
    pairs = [(value, text) for value in inputs for text in arguments]
    each = [(chance.choice(inputs), text) for text in arguments]
    extra = [(value, text) for value in cases.EXTRA for text in (arguments if len(arguments) < 6 else chance.sample(arguments, 6))]
    chance.shuffle(pairs)
    chance.shuffle(extra)
    most = max(wanted, LEAST)
    taken = pairs if most >= len(pairs) else each + pairs[: max(most - len(each), 0)]
    for value, text in taken + extra[: max(most // 3, 6)]:
        call = f"({text})" if text else ""
        yield {"name": name, "expression": form.format(name=name, call=call), "variables": {"v": value}}


def all_questions(options, chance):
    for name, table in cases.FILTERS.items():
        yield from questions(table, name, "v | {name}{call}", options.cases, chance)
    for name, of in cases.ALIASES.items():
        yield from questions(cases.FILTERS[of], name, "v | {name}{call}", options.cases, chance)
    for name, table in cases.TESTS.items():
        yield from questions(table, "is " + name, "v is {name}{call}".replace("{name}", name), options.cases, chance)
    for name, table in cases.METHODS.items():
        for question in questions(table, "." + name, "v.{name}{call}".replace("{name}", name), options.cases, chance):
            yield question | {"expression": question["expression"] if question["expression"].endswith(")") else question["expression"] + "()"}
    for name, (inputs, changes) in cases.SET.items():
        for value in inputs:
            for change in changes:
                text = json.dumps(value).replace("null", "none")
                template = "{% set x = " + text + " %}{{ x." + change + " }} {{ x }}"
                yield {"name": "set " + name, "template": template, "variables": {"v": value}}
    for expression in cases.MORE:
        for value in cases.EXTRA if "v" in expression else [{}]:
            yield {"name": "more", "expression": expression, "variables": {"v": value}}


def permitted(question, wanted, given):
    for pattern, _, same in PERMITTED:
        if re.search(pattern, question.get("expression", "")) and (same is None or same(wanted, given)):
            return True
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=LEAST)
    parser.add_argument("--only", default="")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    init_plugin_loader()
    for name in ("display", "deprecated", "warning", "error_as_warning"):
        setattr(Display, name, lambda *args, **kwargs: None)
    chance = random.Random(options.seed)
    asked = [question for question in all_questions(options, chance) if options.only in question["name"]]
    lines = "".join(json.dumps({key: question[key] for key in ("expression", "template", "variables") if key in question}) + "\n" for question in asked)
    answers = subprocess.run(options.program, input=lines, capture_output=True, text=True, check=False, env={**os.environ, "TZ": "UTC"})
    if answers.returncode:
        sys.exit(f"the program failed: {answers.stderr}")
    answers = [json.loads(line) for line in answers.stdout.splitlines()]
    assert len(answers) == len(asked), (len(answers), len(asked))
    different, excused, errors = {}, 0, 0
    for question, given in zip(asked, answers):
        wanted = original(question)
        errors += "error" in wanted
        if ("error" in wanted and "error" in given) or wanted == given:
            continue
        if permitted(question, wanted, given):
            excused += 1
            continue
        found = different.setdefault(question["name"], [])
        found.append((question, wanted, given))
    for name, found in different.items():
        print(f"{name}: {len(found)} different")
        for question, wanted, given in found[:6]:
            print(f"  {question.get('expression', question.get('template'))!r} v={question['variables']['v']!r:.90}\n    ansible {json.dumps(wanted)[:300]}\n    ours    {json.dumps(given)[:300]}")
    count = sum(map(len, different.values()))
    print(f"{len(asked)} compared, {count} different, {excused} permitted, {errors} errors in ansible-core, seed {options.seed}")
    sys.exit(bool(count))


if __name__ == "__main__":
    main()
