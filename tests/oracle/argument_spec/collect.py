"""The argument specs of ansible-core's own modules and the arguments of their examples, read from the installed
package when this runs; mutations of those arguments."""

import copy
import importlib
import io
import json
import pathlib
import random
from contextlib import redirect_stderr, redirect_stdout

import yaml

import ansible.modules
from ansible.module_utils import basic
from ansible.module_utils.basic import env_fallback
from ansible.parsing.splitter import parse_kv
from ansible.plugins.loader import fragment_loader  # noqa: F401  (the loader has to be set up for some modules)

from values import VALUES, as_text

RULES = ["mutually_exclusive", "required_together", "required_one_of", "required_if", "required_by"]


class Collected(BaseException):
    """Ends a module once it has said what its arguments are."""


def specs():
    """Returns, by module, what it gives to ansible-core's validator, with the arguments of its examples."""
    found, without = {}, []
    folder = pathlib.Path(ansible.modules.__path__[0])
    for path in sorted(folder.glob("*.py")):
        if path.stem == "__init__":
            continue
        spec = spec_of(path.stem)
        if spec is None:
            without.append(path.stem)
        else:
            found[path.stem] = (*spec, examples(path))
    return found, without


def spec_of(name):
    caught = {}

    class Recorder:
        def __init__(self, argument_spec, *rules, **named):
            caught["spec"], caught["rules"] = argument_spec, {**dict(zip(RULES, rules)), **named}
            raise Collected

    original = basic.ModuleArgumentSpecValidator
    basic.ModuleArgumentSpecValidator = Recorder
    basic._ANSIBLE_ARGS, basic._ANSIBLE_PROFILE = b'{"ANSIBLE_MODULE_ARGS": {}}', "legacy"
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            module = importlib.import_module(f"ansible.modules.{name}")
            # Only those: `async_wrapper` would start to work.
            if hasattr(module, "main") and hasattr(module, "AnsibleModule"):
                module.main()
    except (Collected, Exception, SystemExit):
        pass
    finally:
        basic.ModuleArgumentSpecValidator = original
        basic._ANSIBLE_ARGS = None
    if not caught:
        return None
    rules = {rule: plain(caught["rules"][rule]) for rule in RULES if caught["rules"].get(rule)}
    return plain(caught["spec"]), rules


def plain(value):
    """The JSON form of a spec; a function other than `env_fallback` has none."""
    if value is env_fallback:
        return "env_fallback"
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if callable(value):
        raise TypeError(f"{value} has no JSON form")
    return [plain(item) for item in value]


def examples(path):
    """The arguments of the tasks in a module's EXAMPLES that use the module."""
    text = path.read_text(encoding="utf-8")
    module = importlib.import_module(f"ansible.modules.{path.stem}")
    source = getattr(module, "EXAMPLES", None) or ""
    names = {path.stem, f"ansible.builtin.{path.stem}"}
    found = []

    def walk(node):
        if isinstance(node, list):
            for item in node:
                walk(item)
        elif isinstance(node, dict):
            for key, value in node.items():
                if key in names:
                    found.append(arguments(value))
                else:
                    walk(value)

    try:
        walk(yaml.safe_load(source))
    except yaml.YAMLError:
        pass
    assert text
    return [json.loads(json.dumps(args, default=str)) for args in found if isinstance(args, dict)]


def arguments(value):
    if isinstance(value, str):
        return parse_kv(value)
    return {} if value is None else value


def mutations(seed, count):
    """Yields questions: every module's examples as they are, then mutations of them until there are `count`."""
    found, without = specs()
    environment = {"HOME": "/home/me"}
    made = 0
    for spec, rules, args in (one for one in found.values()):
        for given in [{}, *args]:
            made += 1
            yield {"spec": spec, "kw": rules, "params": given, "env": environment}
    rng = random.Random(seed)
    names = sorted(found)
    while made < count:
        spec, rules, args = found[rng.choice(names)]
        given = copy.deepcopy(rng.choice([{}, *args]))
        for _ in range(rng.randint(1, 5)):
            mutate(rng, given, spec)
        made += 1
        yield {"spec": spec, "kw": rules, "params": given, "env": environment}


def mutate(rng, given, spec):
    kind = rng.randrange(9)
    key = rng.choice(list(given)) if given else None
    name = rng.choice(list(spec)) if spec else "nothing"
    option = spec.get(name, {})
    if kind == 0 and key is not None:
        del given[key]
    elif kind == 1 and key is not None:
        given[key] = rng.choice(VALUES)
    elif kind == 2:
        given[name] = fitting(rng, option)
    elif kind == 3 and option.get("aliases"):
        given[rng.choice(option["aliases"])] = fitting(rng, option)
    elif kind == 4:
        given[rng.choice(["unknown", "_ansible_x", "Path", name + " "])] = rng.choice(VALUES)
    elif kind == 5 and key is not None:
        given[key] = rng.choice([[given[key]], {key: given[key]}, str(given[key]), [given[key]] * 2])
    elif kind == 6 and key is not None and isinstance(given[key], dict):
        given[key] = as_text(rng, given[key])
    elif kind == 7:
        given[name] = rng.choice(VALUES)
    elif kind == 8 and option.get("options"):
        inner = {}
        for _ in range(rng.randint(0, 4)):
            mutate(rng, inner, option["options"])
        given[name] = [inner] if option.get("type") == "list" else inner


def fitting(rng, option):
    kind = option.get("type") or "str"
    if option.get("choices"):
        return rng.choice(list(option["choices"]) + [True, False, "no such choice"])
    plausible = {
        "str": ["x", "present", 5, True, None], "int": [1, "2", "x", 2.5], "bool": ["yes", 0, "maybe", True], "path": ["/a", "~/b", "$HOME/c", 5],
        "list": ["a,b", ["a", "b"], [1, None], 5], "dict": ["a=b", {"a": 1}, "x"], "float": [1, "2.5", "x"], "raw": [None, 5, {"a": 1}, "0644"],
    }
    return rng.choice(plausible.get(kind, ["x", "1", "1K", {"a": 1}]))
