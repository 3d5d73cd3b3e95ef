"""Filters of a play: what they get, what they return, and how they fail."""

import collections
import datetime
import math

from ansible.errors import AnsibleError, AnsibleFilterError, AnsibleUndefinedVariable
from jinja2 import pass_context, pass_environment, pass_eval_context


def make(what):
    return {
        "set": {1}, "frozenset": frozenset([1]), "generator": (item for item in [1, 2]), "tuple": (1, (2,)),
        "object": object, "keys": {"a": 1}.keys(), "range": range(3), "ordered": collections.OrderedDict(a=1),
        "template": "{{ 1 + 1 }}", "date": datetime.date(2020, 1, 2), "time": datetime.time(1, 2),
        "datetime": datetime.datetime(2020, 1, 2, 3, 4, 5, 6), "infinity": math.inf, "big": 10**30,
        "numbers": {1: "a", 2.5: "b"}, "named": collections.namedtuple("Pair", "a b")(1, 2), "complex": 1j,
        "nested": [{"a": (1, 2)}], "function": len, "sets": [{1}], "default": collections.defaultdict(list, a=[1]),
        "map": map(str, [1]), "none": [None], "utc": datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc),
    }[what]


def fail(kind):
    raise {
        "filter": AnsibleFilterError("my message"), "value": ValueError("a value"), "key": KeyError("a key"),
        "undefined": AnsibleUndefinedVariable("not there"), "ansible": AnsibleError("an error"), "empty": Exception(),
    }[kind]


def fail_by(value, is_named):
    try:
        raise ValueError("the cause")
    except ValueError as error:
        if is_named:
            raise AnsibleFilterError("the effect") from error
        raise AnsibleFilterError("the effect")


@pass_environment
def environment(environment, value):
    return [type(environment).__name__, environment.filters["ansible.builtin.upper"](value)]


@pass_context
def variable(context, name):
    return context.resolve(name)


@pass_context
def variables(context, value):
    return ["own_text" in context, "none" in context, context.get("none", "default"), context["own_text"]]


@pass_context
def names(context, value):
    return sorted(name for name in context.get_all() if name.startswith("own"))


@pass_context
def upper_by_context(context, value):
    return context.environment.call_filter("upper", value, context=context)


@pass_eval_context
def evaluation(context, value):
    return type(context).__name__


def append(items):
    items.append("own")
    return items


def types(value):
    return [kind.__name__ for kind in (str, int, bool, dict, list, tuple, float, bytes) if isinstance(value, kind)]


class FilterModule(object):
    def filters(self):
        return {
            "make": make, "fail": fail, "fail_by": fail_by, "environment": environment, "append": append, "types": types,
            "show": lambda *args, **kwargs: "%r %r" % (args, sorted(kwargs.items())), "same": lambda value: value,
            "variable": variable, "variables": variables, "names": names, "evaluation": evaluation,
            "upper_by_context": upper_by_context, "count": lambda value: len(value), "first_of": lambda value: value[0],
            "items_of": lambda value: [item for item in value], "lazily": lambda value: (item for item in value),
            "without": lambda value: {"a": value, "b": 1}, "has": lambda value, item: item in value,
            "upper": lambda value: "own upper", "one": lambda value: value,
        }
