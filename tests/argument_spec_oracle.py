#!/usr/bin/env python3
"""Compares modbox-argument-spec with ansible-core's own validator.

    cargo build -p modbox-argument-spec --example validate
    VENV/bin/python tests/argument_spec_oracle.py target/debug/examples/validate [--seed N] [--cases N]

Run it with a Python that has ansible-core. Every type meets every value of a list of awkward ones, then
random specs meet random arguments. Each difference is printed; the exit status is 1 if there is one.

Left out of the comparison, on purpose:
- cases on which ansible-core itself crashes (its exception is no ValidationError);
- specs that modbox refuses as contradictions, which ansible-core reports per run or not at all;
- the order of words in a bool's message, which is random in Python;
- which level's options an error about unknown arguments lists, when several levels have such errors;
- lone surrogates in messages and secrets: modbox writes U+FFFD there, since Rust text cannot hold them;
- tuples and bytes in a dict written as a Python literal: no JSON value carries them;
- what an alias of a dict holds: in Python it is the same object as the option's own value, and changes with it;
- a secret option whose default is True: ansible-core takes the text True for a secret;
- warnings about aliases of sub-options, which ansible-core prints elsewhere;
- secrets, when ansible-core failed to collect them: modbox keeps those that it saw until then.
"""

import argparse
import copy
import json
import os
import random
import re
import subprocess
import sys

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.basic import env_fallback

TYPES = ["str", "int", "float", "bool", "list", "dict", "path", "raw", "json", "jsonarg", "bytes", "bits"]
VALUES = [
    None, True, False, 0, 1, 2, -3, 2.0, 2.5, 1e300, 1e-7, 10**30, -(10**25), "", "x", "yes", " Yes ", "NO", "t", "4.0",
    "4.5", "1e3", "0644", " 42 ", "nan", "1_000", "_1", "1__0", "1.", ".5", "+4", "--1", "0x10", "1e-2", "100e-2",
    "a=1,b=2", 'a=1 b="x y"', '{"a": 1}', "{'a': 1}", "{'a': [1, 2], 'b': None}", "{bad", "[1,2]", "a,b , c", [],
    [1, "a", None, True, 1.5], [[1], {"a": 2}], {}, {"a": 1, "b": [1]}, "a=", "=b", "a b=c", "a='x,y' c=d\\ e", '"',
    "a='b", "a=b=c,,d=1", "1K", "1.5 MB", "10 kB", "1kilobyte", "5b", "5Kb", "3zettabyte", "3zetabyte", "2Y", "1.5\n",
    "0.5", "2.5M", "7 kilobit", " x ", "~", "~/x", "$HOME/y", "${HOME}z", "$NOPE/${NOPE}", "~nouser/x", "é", "it's",
    "\u2028", "\ud800", "True", "False", "None", "present",
]
NAMES = ["alpha", "beta", "gamma", "delta", "name", "state"]
ALIASES = ["al", "ali", "other"]
ENVIRONMENT = {"HOME": "/home/me", "FROM_ENV": "fallen back"}


def ansible_answer(case):
    spec = with_functions(copy.deepcopy(case["spec"]))
    constraints = with_functions(copy.deepcopy(case["constraints"]))
    validator = ArgumentSpecValidator(spec, **constraints)
    result = validator.validate(copy.deepcopy(case["arguments"]))
    return {
        "parameters": result.validated_parameters,
        "errors": [[type(error).__name__, str(error)] for error in result.errors],
        "warnings": ["Both option %(option)s and its alias %(alias)s are set." % w for w in result._warnings],
        "deprecations": [d["msg"] for d in result._deprecations],
        "no_log": sorted({str(value) for value in result._no_log_values}),
        "unsupported": sorted(
            ".".join(item) if isinstance(item, tuple) else item for item in result._unsupported_parameters
        ),
    }


def with_functions(spec):
    """Turns the JSON form of a fallback into the function that ansible-core wants."""
    if isinstance(spec, dict):
        if isinstance(spec.get("fallback"), list):
            spec["fallback"] = (env_fallback, spec["fallback"][1])
        for value in spec.values():
            with_functions(value)
    return spec


def comparable(answer):
    answer = json.loads(json.dumps(answer))
    for part in ("errors", "no_log"):
        answer[part] = json.loads(re.sub(r"\\ud[89a-f]..", r"\\ufffd", json.dumps(answer[part])))
    drop_shared(answer["parameters"])
    answer["warnings"] = [text for text in answer["warnings"] if "." not in text.rstrip(".").replace(". ", "")]
    for error in answer["errors"]:
        error[1] = re.sub(r"(Valid booleans include: ).*", r"\1...", error[1], flags=re.S)
        if error[0] == "UnsupportedError" and any("." in name for name in answer["unsupported"]):
            error[1] = error[1].split(" Supported parameters include")[0]
    if any(error[0] == "NoLogError" for error in answer["errors"]):
        del answer["no_log"]
    return answer


def drop_shared(value):
    if isinstance(value, dict):
        for alias in [key for key in value if key.endswith(tuple(f"_{alias}" for alias in ALIASES))]:
            if isinstance(value[alias], (dict, list)):
                del value[alias]
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            drop_shared(item)


def table_cases():
    for option_type in TYPES:
        for value in VALUES:
            yield {"k": {"type": option_type}}, {}, {"k": value}
            yield {"k": {"type": option_type, "required": True}}, {}, {"k": value}
            yield {"k": {"type": "list", "elements": option_type}}, {}, {"k": [value]}
            yield {"k": {"type": option_type, "no_log": True}}, {}, {"k": value}
    for value in VALUES:
        for choices in (["yes", "x"], ["yes", "true"], [1, 2], ["no"], [True], ["", None]):
            for option_type in ("str", "raw", "list", "bool"):
                yield {"k": {"type": option_type, "choices": choices}}, {}, {"k": value}
        sub = {"a": {"type": "int"}, "b": {"default": "d", "choices": ["d", "e"]}}
        yield {"k": {"type": "dict", "options": sub}}, {}, {"k": value}
        yield {"k": {"type": "dict", "options": sub, "apply_defaults": True}}, {}, {"k": value}
        yield {"k": {"type": "list", "elements": "dict", "options": sub}}, {}, {"k": value}


def random_option(rng, name, depth):
    option = {}
    kind = rng.choice(TYPES + ["str", "str", "dict", "list", None])
    if kind:
        option["type"] = kind
    if rng.random() < 0.3:
        option["required"] = True
    elif rng.random() < 0.4:
        option["default"] = rng.choice([None, "x", 1, "5", "a,b"])
        if option.get("type") == "dict":
            option["default"] = rng.choice([None, {"a": 1}])
    if rng.random() < 0.3:
        option["choices"] = rng.sample(["x", "yes", "no", 1, 5, "5", True, "a"], 3)
    if rng.random() < 0.3:
        option["aliases"] = rng.sample([f"{name}_{alias}" for alias in ALIASES], rng.randint(1, 2))
        if rng.random() < 0.3:
            option["deprecated_aliases"] = [{"name": option["aliases"][0], "version": "9", "collection_name": "a.b"}]
    if rng.random() < 0.2:
        option["no_log"] = rng.random() < 0.8
    if rng.random() < 0.1:
        option["removed_in_version"] = "3.0"
        option["removed_from_collection"] = "a.b"
    if rng.random() < 0.1:
        option["fallback"] = ["env_fallback", [rng.choice(["NOPE", "FROM_ENV"]), "FROM_ENV"]]
    if kind == "list" and rng.random() < 0.7:
        option["elements"] = rng.choice(TYPES + ["dict"] * 4)
    if depth < 2 and (kind == "dict" or option.get("elements") == "dict") and rng.random() < 0.8:
        option["options"] = random_spec(rng, depth + 1)
        if isinstance(option.get("default"), dict):
            del option["default"]  # ansible-core changes the default itself, for every later use
        option.update(random_constraints(rng))
        if rng.random() < 0.2:
            option["apply_defaults"] = True
    return option


def random_spec(rng, depth=0):
    return {name: random_option(rng, name, depth) for name in rng.sample(NAMES, rng.randint(1, 4))}


def random_constraints(rng):
    def group():
        return rng.sample(NAMES, rng.randint(2, 3))

    constraints = {}
    if rng.random() < 0.2:
        constraints["mutually_exclusive"] = [group() for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.2:
        constraints["required_together"] = [group() for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.2:
        constraints["required_one_of"] = [group() for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.2:
        rule = [rng.choice(NAMES), rng.choice(["x", 1, True, 1.0, None, "5"]), group()]
        constraints["required_if"] = [rule + rng.choice([[], [True], [False]])]
    if rng.random() < 0.2:
        constraints["required_by"] = {rng.choice(NAMES): rng.choice([group(), "beta"])}
    return constraints


def random_arguments(rng, spec):
    arguments = {}
    for name, option in spec.items():
        if rng.random() < 0.65:
            arguments[rng.choice([name, name, *option.get("aliases", [])])] = random_value(rng, option)
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        arguments[rng.choice(NAMES + ["unknown", "zeta"])] = rng.choice(VALUES)
    items = list(arguments.items())
    rng.shuffle(items)
    return dict(items)


def random_value(rng, option):
    options = option.get("options")
    if options is not None and rng.random() < 0.9:
        if option.get("type") == "dict":
            return random_arguments(rng, options)
        return [
            random_arguments(rng, options) if rng.random() < 0.9 else rng.choice(VALUES)
            for _ in range(rng.randint(0, 3))
        ]
    if option.get("choices") and rng.random() < 0.7:
        return rng.choice(option["choices"])
    return rng.choice(VALUES)


def cases(seed, count):
    for spec, constraints, arguments in table_cases():
        yield {"spec": spec, "constraints": constraints, "arguments": arguments, "environment": ENVIRONMENT}
    rng = random.Random(seed)
    for _ in range(count):
        spec = random_spec(rng)
        yield {
            "spec": spec,
            "constraints": random_constraints(rng),
            "arguments": random_arguments(rng, spec),
            "environment": ENVIRONMENT,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("validate", help="the example program `validate` of modbox-argument-spec")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=2000, help="how many random cases")
    parser.add_argument("--show", type=int, default=20, help="how many differences to print")
    options = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    os.environ.pop("NOPE", None)
    all_cases = list(cases(options.seed, options.cases))
    text = "".join(json.dumps(case) + "\n" for case in all_cases)
    output = subprocess.run([options.validate], input=text, capture_output=True, text=True, check=True).stdout
    answers = [json.loads(line) for line in output.splitlines()]
    assert len(answers) == len(all_cases), "an answer is missing"
    compared = crashed = refused = different = 0
    for case, answer in zip(all_cases, answers):
        if "spec_error" in answer:
            refused += 1
            continue
        try:
            expected = ansible_answer(case)
        except Exception:
            crashed += 1
            continue
        compared += 1
        expected, answer = comparable(expected), comparable(answer)
        if json.dumps(expected) != json.dumps(answer):
            different += 1
            if different <= options.show:
                print("case    ", json.dumps(case))
                for key in answer:
                    if json.dumps(expected.get(key)) != json.dumps(answer[key]):
                        print("  ", key)
                        print("    ansible", json.dumps(expected.get(key)))
                        print("    modbox ", json.dumps(answer[key]))
    print(f"{compared} compared, {different} different; left out: {crashed} crash ansible-core, {refused} refused specs")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
