"""Values that a validator might trip over, and the text forms in which dicts come."""

import json

SCALARS = [
    None, True, False, 0, 1, 2, -3, 7, 10**30, -(10**25), 2**63, 2**63 - 1, -(2**63) - 1, 2.0, 2.5, -0.0, 1e300, 1e-7, 1e16,
    123456789.125, float("nan"), float("inf"), float("-inf"), 644, 0o644, 1.0, 0.0,
]
TEXTS = [
    "", " ", "x", "a", "b", "yes", " Yes ", "NO", "t", "off", "1", "0", "True", "False", "true", "None", "null", "present", "absent", "4.0",
    "4.5", "1e3", "0644", " 42 ", "nan", "NaN", "sNaN", "inf", "-Infinity", "1_000", "_1", "1__0", "1.", ".5", "+4", "--1", "0x10", "1e-2",
    "100e-2", "1e5000", "12e-400", "-0", "-0.0", "\u0663\u0664", "\uff11\uff12.\uff10", "\u00b2", "1\u00a0", "\u20031 ", "\x1c5\x1f", "5\x00",
    "a=1,b=2", 'a=1 b="x y"', "a=", "=b", "a b=c", "a='x,y' c=d\\ e", '"', "a='b", "a=b=c,,d=1", "\\=", "a=1\nb=2", "\x1fa=1\x1f",
    '{"a": 1}', "{'a': 1}", "{'a': [1, 2], 'b': None}", "{bad", "{", "{}", " {}", "[1,2]", "{'a': (1, 2), 1: 'x'}", "{'a': {1, 2}}",
    "{'a': 0x1F, 'b': 1_0, 'c': -1}", "{'a': --1}", "{'a': -True}", "{'a': b'x'}", "{'a': 'x' \"y\"}", "{'a': r'\\n', 'b': '\\x41\\101'}",
    "{'a': '''x\ny'''}", "{'a': '\\ud800'}", '{"a": "\\ud800"}', '{"a": NaN}', '{"a": 1, "a": 2}', "{'a': 1 # c\n}", "{'a': 1}\n", "{'a': -(1)}",
    "{'a': 010}", "{'a': 1j}", "{'a': 1+1}", "{True: 1, None: 2, 1.5: 3}", "{'a': ..., }", "{'a': u'x'}", "{'a': f'x'}", "{'a' 1}", "{'a': '\\q'}",
    "a,b , c", ",", ",,", "a,", "1K", "1.5 MB", "10 kB", "1kilobyte", "5b", "5B", "5Kb", "3zettabyte", "3zetabyte", "2Y", "1.5\n", "0.5", "1.5",
    "2.5M", "7 kilobit", "1 KB ", "1\u2003K", "9" * 40, "K", "1KiB", "1e3K", "\u0661K", " x ", "\tx\n", "~", "~/x", "~/", "$HOME/y", "${HOME}z",
    "$NOPE/${NOPE}", "$FROM_ENV", "${}", "$", "$$HOME", "${HOME", "~nosuchuser/x", "~root/x", "~root", "a/~", "$TILDE/x", "~\x00/a", "/a/$\u00e9",
    "\u00e9", "it's", 'say "hi"', "it's \"so\"", "\\", "\u2028", "\ud800", "a\udcff,b", "\udcff=1", "a=\udcff", " \udcfe ", "$HOME/\udcff",
    '{"k": "\udcff"}', "~/\udcff", "\U0001f600", "x" * 300, "%s", "{0}", "\x7f\x1b[31m", "\u202e", "\u0130", "\u212a",
]
CONTAINERS = [
    [], [None], [1, "a", None, True, 1.5], [[1], {"a": 2}], ["a", "b"], ["yes", "no"], ["x,y"], [["a"]], [0, [1, 2], 0], [1, [0], 3],
    [float("nan")], ["\udcff"], ["1", "2.5", "x"], [{}], [{"a": 1}, {"a": "x"}, 5], [{"alpha": None}], {}, {"a": 1, "b": [1]},
    {"a": {"b": {"c": [True, None]}}}, {"": 1}, {"alpha": 1, "beta": "x"}, {"a b": 1, "\u00e9": 2}, {"k": "\ud800"},
]
VALUES = SCALARS + TEXTS + CONTAINERS


def as_text(rng, value):
    """A dict in one of the notations in which ansible-core reads it from text."""
    try:
        notation = rng.randrange(3)
        if notation == 0:
            return json.dumps(value, ensure_ascii=rng.random() < 0.5)
        if notation == 1:
            return repr(value)
        return rng.choice([" ", ",", ", "]).join(f"{key}={item}" for key, item in value.items())
    except (AttributeError, TypeError):
        return str(value)
