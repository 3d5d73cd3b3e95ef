"""Specs and arguments that nobody would write: every key of a spec, at every depth, with values that do not fit."""

import random

from values import CONTAINERS, SCALARS, TEXTS, VALUES, as_text

TYPES = ["str", "int", "float", "bool", "list", "dict", "path", "raw", "json", "jsonarg", "bytes", "bits"]
NAMES = ["alpha", "beta", "gamma", "delta", "name", "state", "a.b", "a b", "\u00e9", "Alpha", "x", "pass_word"]
ENVIRONMENTS = [
    {"HOME": "/home/me", "FROM_ENV": "fallen back", "TILDE": "~"},
    {"HOME": "/", "NUMBER": "7", "FROM_ENV": "", "EMPTY": ""},
    {"HOME": "", "LIST": "a,b", "DICT": "alpha=1 beta=x"},
    {"NUMBER": "12"},
    {},
]
VARIABLES = ["FROM_ENV", "NUMBER", "LIST", "DICT", "EMPTY", "NOPE", "HOME"]
VERSIONS = ["2.0", "3", 1.5, "banana"]
MAX_DEPTH = 4


def pairs(seed, count):
    """Yields `count` questions; the same for the same seed."""
    rng = random.Random(seed)
    for _ in range(count):
        depth = rng.choice([0, 0, 1, 2, 3, MAX_DEPTH])
        spec = random_spec(rng, depth)
        kw = random_rules(rng, spec)
        yield {"spec": spec, "kw": kw, "params": random_arguments(rng, spec), "env": rng.choice(ENVIRONMENTS)}


def random_spec(rng, depth):
    count = rng.choice([0, 1, 1, 2, 2, 3, 4, 5, 6])
    free = [f"{name}_{suffix}" for name in NAMES for suffix in ("al", "other", "z")]
    rng.shuffle(free)
    if rng.random() < 0.1:
        # Names that mean two things.
        free = [rng.choice([*NAMES[:6], *free[:4]]) for _ in range(30)]
    return {name: random_option(rng, depth, free) for name in rng.sample(NAMES, count)}


def random_option(rng, depth, free):
    option = {}
    kind = rng.choice(TYPES + ["str", "int", "list", "dict", "dict", "list", None])
    if depth > 0 and rng.random() < 0.5:
        kind = rng.choice(["dict", "list"])
    if kind or rng.random() < 0.1:
        option["type"] = kind
    if kind == "list" and rng.random() < 0.75 or rng.random() < 0.02:
        option["elements"] = rng.choice(TYPES + (["dict"] * 12 if depth > 0 else []))
    if rng.random() < 0.25:
        option["required"] = rng.choice([True, True, True, False, 1, 0, "yes", ""])
    if rng.random() < (0.05 if option.get("required") else 0.35):
        option["default"] = rng.choice(VALUES)
    if rng.random() < 0.25:
        option["choices"] = random_choices(rng)
    if rng.random() < 0.25:
        option["aliases"] = [free.pop() for _ in range(rng.randint(0, 2)) if free]
        if option["aliases"] and rng.random() < 0.3:
            option["deprecated_aliases"] = [random_deprecation(rng, rng.choice(option["aliases"]))]
        if rng.random() < 0.02:
            option["aliases"] = rng.choice(["x", "", None, {}, 0])
    if rng.random() < 0.2:
        option["no_log"] = rng.random() < 0.8
    if rng.random() < 0.1:
        option[rng.choice(["removed_in_version", "removed_at_date"])] = rng.choice(VERSIONS[:2])
        if rng.random() < 0.3:
            option["removed_at_date"] = "2030-01-01"
        if rng.random() < 0.7:
            option["removed_from_collection"] = "acme.tools"
    if rng.random() < 0.12:
        option["fallback"] = ["env_fallback", rng.sample(VARIABLES, rng.randint(0, 3))]
    if rng.random() < 0.05:
        option[rng.choice(["description", "choises", "version_added"])] = rng.choice(["x", 1, None])
    add_sub_spec(rng, option, kind, depth)
    items = list(option.items())
    rng.shuffle(items)
    return dict(items)


def add_sub_spec(rng, option, kind, depth):
    holds_dicts = kind == "dict" or (kind == "list" and option.get("elements") == "dict")
    if depth > 0 and holds_dicts and rng.random() < 0.9 or rng.random() < 0.01:
        option["options"] = random_spec(rng, depth - 1)
        option.update(random_rules(rng, option["options"]))
        if isinstance(option.get("default"), (dict, list)):
            # The original changes a default in its place, for all later uses of it, those in the same list included.
            del option["default"]
    if rng.random() < (0.25 if "options" in option else 0.03):
        option["apply_defaults"] = rng.choice([True, True, False])


def random_choices(rng):
    plain = ["x", "yes", "no", "a", "present", "absent", "1", "", "on", "off", "true", "false", "y", "T"]
    mixed = [1, 0, 5, True, False, 1.0, 0.0, None, 2.5, float("nan"), 10**30]
    kind = rng.random()
    if kind < 0.02:
        return rng.choice(["xyz", {"x": 1}, 5, None])
    if kind < 0.5:
        return rng.sample(plain, rng.randint(0, 4))
    return rng.sample(plain + mixed, rng.randint(0, 5))


def random_deprecation(rng, name):
    return {"name": name, rng.choice(["version", "date"]): "2.0", "collection_name": "acme.tools"}


def random_rules(rng, spec):
    names = list(spec) + [alias for option in spec.values() for alias in option.get("aliases") or []] + ["nothing"]

    def group():
        return [rng.choice(names) for _ in range(rng.randint(1, 3))]

    rules = {}
    for rule in ("mutually_exclusive", "required_together", "required_one_of"):
        if rng.random() < 0.15:
            rules[rule] = [group() for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.02:
        rules[rng.choice(["mutually_exclusive", "required_together"])] = group()
    if rng.random() < 0.2:
        rules["required_if"] = [random_required_if(rng, names, spec, group) for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.15:
        rules["required_by"] = {rng.choice(names): rng.choice([group(), rng.choice(names)])}
    return rules


def random_required_if(rng, names, spec, group):
    key = rng.choice(names)
    choices = (spec.get(key) or {}).get("choices")
    value = rng.choice(choices) if isinstance(choices, list) and choices else rng.choice(["x", 1, True, 1.0, None, "5", [], {}, "", 2.0])
    return [key, value, group(), *rng.choice([[], [True], [False], [1], [None]])]


def random_arguments(rng, spec):
    arguments = {}
    for name, option in spec.items():
        aliases = option.get("aliases") if isinstance(option.get("aliases"), list) else []
        for given in {name, *aliases}:
            if rng.random() < (0.6 if given == name else 0.25):
                arguments[given] = random_value(rng, option)
    for _ in range(rng.choice([0] * 7 + [1, 1, 2])):
        arguments[rng.choice(NAMES + ["unknown", "zeta", "", "_ansible_x", "a.b.c"])] = rng.choice(VALUES)
    items = list(arguments.items())
    rng.shuffle(items)
    return dict(items)


def random_value(rng, option):
    options = option.get("options")
    if isinstance(options, dict) and rng.random() < 0.9:
        if option.get("type") == "dict" and rng.random() < 0.9:
            value = random_arguments(rng, options)
            return as_text(rng, value) if rng.random() < 0.15 else value
        return [random_item(rng, options) for _ in range(rng.randint(0, 3))]
    choices = option.get("choices")
    if isinstance(choices, list) and choices and rng.random() < 0.7:
        one = rng.choice(choices)
        return [one, rng.choice(choices)] if option.get("type") == "list" and rng.random() < 0.7 else one
    if option.get("type") == "list" and rng.random() < 0.6:
        return [rng.choice(VALUES) for _ in range(rng.randint(0, 3))]
    return rng.choice(rng.choice([SCALARS, TEXTS, TEXTS, CONTAINERS]))


def random_item(rng, options):
    if rng.random() < 0.05:
        return rng.choice(VALUES)
    value = random_arguments(rng, options)
    return as_text(rng, value) if rng.random() < 0.1 else value
