#!/usr/bin/env python3
"""Compares `modbox validate --jsonl` with ansible-core's own `ArgumentSpecValidator`, whose API this calls.

    VENV/bin/python tests/oracle/argument_spec/compare.py [--seed N] [--generated N] [--modules N] FILTER [ARG…]

FILTER is the program that answers questions. Questions are made by `generate.py` and, of the specs of ansible-core's own modules,
by `collect.py`. Each difference is printed; the exit status is 1 if there is one.

What is compared: everything in an answer, in its order. The exceptions, each as narrow as it can be, with its reason:

1. a question on which ansible-core itself crashes: there is nothing to compare with, but modbox has to answer it;
2. the words of a bool's message, whose order is random in Python: they are compared as a set;
3. the supported arguments that the last error lists: with unknown arguments at several levels, Python's random order of a set
   decides whose they are; any of them is right;
4. lone surrogates in messages and secrets: modbox writes U+FFFD there, since Rust text cannot hold them;
5. secrets, when ansible-core failed to collect them: modbox keeps those that it saw until then, so its set may be larger;
6. a dict written as a Python literal that holds what JSON cannot carry: modbox refuses sets, bytes, complex numbers and `...`; a
   tuple is a list to it, and keys are text; a lone surrogate in a key is U+FFFD; and an int of more than 4300 digits, which
   Python makes but does not print, is none;
7. a name that means two things, an alias of two options or of an option and the name of another (modbox refuses such a spec when it
   checks it): in Python their values are one object down to its depths, here at the level of the names; no more than one
   question in 500 may differ for that;
8. a secret that is a number, not text, in Python's set: there it is lost beside an equal number of another type.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time

from ansible.module_utils.basic import env_fallback
from ansible.module_utils.common import parameters
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.validation import check_type_dict

import collect
import generate

FOREIGN = []
LONE = re.compile("[\ud800-\udfff]")
WORDS = re.compile(r"(is not a valid boolean\. Valid booleans include: )(.*)", re.S)
CHUNK = 2000


class NoJson(Exception):
    """The original's answer holds what JSON cannot carry."""


def with_functions(spec):
    """Turns the JSON form of a fallback into the function that ansible-core wants."""
    for option in spec.values():
        if isinstance(option.get("fallback"), list) and option["fallback"][0] == "env_fallback":
            option["fallback"] = (env_fallback, *option["fallback"][1:])
        if isinstance(option.get("options"), dict):
            with_functions(option["options"])
    return spec


def ambiguous(spec):
    """Whether a name means two things at any level."""
    names = list(spec)
    for option in spec.values():
        names += set(option["aliases"]) if isinstance(option.get("aliases"), (list, dict)) else []
    inner = [option["options"] for option in spec.values() if isinstance(option.get("options"), dict)]
    return len(names) != len(set(names)) or any(ambiguous(options) for options in inner)


def watched_dict(value):
    """`check_type_dict`, that notes what JSON cannot carry."""
    value = check_type_dict(value)
    if has_foreign(value):
        FOREIGN.append(value)
    return value


def original_answer(question):
    nested = []
    FOREIGN.clear()
    parameters.warn = nested.append
    os.environ.clear()
    os.environ.update(question["env"])
    validator = ArgumentSpecValidator(with_functions(question["spec"]), **question["kw"])
    result = validator.validate(question["params"])
    both = "Both option %(option)s and its alias %(alias)s are set."
    if FOREIGN or has_foreign(result._validated_parameters):
        raise NoJson
    return {
        "validated": json.loads(json.dumps(result._validated_parameters)),
        "errors": [{"type": type(error).__name__, "msg": str(error)} for error in result.errors],
        "unsupported": sorted(".".join(name) if isinstance(name, tuple) else name for name in result._unsupported_parameters),
        "no_log_values": sorted({str(value) for value in result._no_log_values}),
        "aliases": result._aliases,
        "deprecations": [{key: str(value) for key, value in one.items() if value is not None} for one in result._deprecations],
        "warnings": [both % warning for warning in result._warnings] + nested,
        "supported": [supported_of(result, name) for name in result._unsupported_parameters],
    }


def has_foreign(value):
    if isinstance(value, dict):
        return any(has_foreign(item) or not isinstance(key, str) or LONE.search(key) for key, item in value.items())
    if isinstance(value, list):
        return any(has_foreign(item) for item in value)
    if isinstance(value, int) and value.bit_length() > 14000:
        return True
    return not isinstance(value, (str, int, float, bool, type(None)))


def supported_of(result, name):
    options, aliases = result._supported_parameters[name]
    text = ", ".join(sorted(options))
    return f"{text} ({', '.join(sorted(aliases))})" if aliases else text


def replaced(text):
    return LONE.sub("\ufffd", text)


def difference(expected, answer):
    """Returns the parts that differ, by key, after the exceptions."""
    supported = {replaced(text) for text in expected.pop("supported")}
    found = {}
    for key in set(expected) | set(answer) - {"spec_error"}:
        left, right = expected.get(key), answer.get(key)
        if key == "errors":
            left, right = [comparable(error, supported) for error in left], [comparable(error, supported) for error in right or []]
        elif key in ("no_log_values", "unsupported", "warnings"):
            left, right = [replaced(text) for text in left], right and [replaced(text) for text in right]
            if key == "no_log_values":
                left = sorted(set(left))
                if any(error["type"] == "NoLogError" for error in expected["errors"]) and set(left) <= set(right):
                    continue
                if set(left) <= set(right) and all(is_number(text) for text in set(right) - set(left)):
                    continue
        if json.dumps(left) != json.dumps(right):
            found[key] = (left, right)
    return found


def is_number(text):
    return text in ("True", "1", "1.0") or re.fullmatch(r"-?\d+(\.0)?", text)


def comparable(error, supported):
    message = replaced(error["msg"])
    message = WORDS.sub(lambda found: found[1] + ", ".join(sorted(found[2].split(", "))), message)
    if error["type"] == "UnsupportedError":
        for text in supported:
            message = message.removesuffix(f" Supported parameters include: {text}.")
    return [error["type"], message]


def answers(program, questions):
    text = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run(program, input=text, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "HOME": "/nowhere"})
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != len(questions):
        sys.exit(f"{program} answered {len(lines)} of {len(questions)} questions, status {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in lines]


def compare(title, program, questions, show):
    counts = {"compared": 0, "different": 0, "crashed": 0, "no JSON": 0, "with errors": 0, "excepted": 0}
    started = time.monotonic()
    chunk = []

    def finish():
        for question, answer in zip(chunk, answers(program, chunk)):
            one(question, answer, counts, show)
        chunk.clear()

    for question in questions:
        chunk.append(question)
        if len(chunk) == CHUNK:
            finish()
    finish()
    spent = time.monotonic() - started
    print(f"{title}: {', '.join(f'{count} {what}' for what, count in counts.items())} ({spent:.0f} s)", flush=True)
    return counts["different"] + (counts["excepted"] > 3 + counts["compared"] // 500)


def one(question, answer, counts, show):
    try:
        # As it comes from JSON: nothing in it is one object with something else.
        expected = original_answer(json.loads(json.dumps(question)))
    except NoJson:
        counts["no JSON"] += 1
        return
    except Exception as error:
        counts["crashed"] += 1
        expected = None
        found = {} if "validated" in answer else {"crash": (repr(error), answer)}
    if expected is not None:
        counts["compared"] += 1
        counts["with errors"] += bool(expected["errors"])
        found = {"answer": (expected, answer)} if "error" in answer else difference(expected, answer)
    if found and ambiguous(question["spec"]):
        counts["excepted"] += 1
    elif found:
        counts["different"] += 1
        if counts["different"] <= show:
            print("question", json.dumps(question))
            for key, (left, right) in found.items():
                print(f"  {key}\n    ansible {json.dumps(left)}\n    modbox  {json.dumps(right)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--generated", type=int, default=3000, help="how many generated questions")
    parser.add_argument("--modules", type=int, default=2000, help="how many questions with the specs of modules, at least all examples")
    parser.add_argument("--show", type=int, default=10, help="how many differences to print")
    parser.add_argument("filter", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    parameters.check_type_dict = parameters.DEFAULT_TYPE_VALIDATORS["dict"] = watched_dict
    print(f"seed {options.seed}")
    different = 0
    if options.modules:
        found, without = collect.specs()
        count = sum(len(args) for _, _, args in found.values())
        print(f"{len(found)} modules have specs, with {count} examples; without: {' '.join(without)}")
        different += compare("modules", options.filter, collect.mutations(options.seed, options.modules), options.show)
    if options.generated:
        different += compare("generated", options.filter, generate.pairs(options.seed, options.generated), options.show)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
