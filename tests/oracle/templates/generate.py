"""Templates, expressions and conditions, and variables for them, made at random.

They are small programs in Jinja's language: names that exist or not, attributes, operators, filters, tests, loops, macros,
`set`, conditions in variables, `omit`, and variables that hold templates which may fail.
"""

import json

NAMES = ["a", "a", "b", "c", "n", "s", "s", "t", "l", "l", "m", "d", "e", "e", "f", "f", "z", "tpl", "cond", "raw", "raw"]
NAMES += ["bad", "nope"]
TEXTS = ["", "x", "abc", "a b", "1", "Ünï", "it's", "true", "a,b", "x\ny", "{", "%}", "10.5", "No"]
KEYS = ["k", "a", "x y", "items", "n", "1"]
NUMBERS = ["0", "1", "-1", "2", "7", "10", "255", "1.0", "0.5", "2.5", "1e3", "-0.0", "12345678901234567890"]
ARITHMETIC = ["+", "-", "*", "//", "%", "~", "/"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
PLAIN_FILTERS = [
    "length", "upper", "lower", "list", "first", "last", "join", "string", "int", "float", "bool", "type_debug", "trim",
    "unique", "sort", "reverse", "abs", "capitalize", "title", "count", "sum", "min", "max", "items", "dict2items", "flatten",
    "to_json", "quote", "basename", "dirname", "mandatory", "round", "b64encode", "md5", "split", "string",
]
TESTS = [
    "defined", "undefined", "none", "string", "number", "mapping", "sequence", "iterable", "boolean", "integer", "float",
    "even", "odd", "true", "false", "truthy", "falsy", "lower", "upper",
]
METHODS = [
    "s.upper()", "s.split()", "s.split('b')", "s.replace('a', 'q')", "s.startswith('a')", "t.strip()", "s.find('b')",
    "s.format(a)", "d.keys() | list", "d.values() | list", "d.items() | list", "d.get('k')", "d.get('no', 3)", "l.index(1)",
    "l.count(1)", "e.get('n')", "s.join(['x', 'y'])", "s.isdigit()", "s.title()", "t.splitlines()", "s.zfill(5)", "l.append(9)",
    "d.update({'q': 1})", "l.pop()", "s.nope()", "a.bit_length()", "nope.upper()", "d.copy()", "l.copy()",
]


class Generator:
    """Makes cases with numbers from a source of chance."""

    def __init__(self, random):
        self.random = random
        self.locals = []

    def pick(self, items):
        return self.random.choice(items)

    def chance(self, share):
        return self.random.random() < share

    def name(self):
        if self.locals and self.chance(0.4):
            return self.pick(self.locals)
        return self.pick(NAMES)

    def literal(self, depth=2):
        kind = self.random.randrange(9 if depth > 0 else 6)
        if kind in (0, 1):
            return self.pick(NUMBERS)
        if kind in (2, 3):
            text = self.pick([text for text in TEXTS if "\n" not in text])
            return "'" + text.replace("'", "") + "'"
        if kind == 4:
            return self.pick(["true", "false", "none", "True", "None"])
        if kind == 5:
            return self.pick(["[]", "{}", "''", "()"])
        if kind in (6, 7):
            return "[" + ", ".join(self.literal(depth - 1) for _ in range(self.random.randrange(4))) + "]"
        return "{" + ", ".join(f"'{self.pick(KEYS)}': {self.literal(depth - 1)}" for _ in range(self.random.randrange(3))) + "}"

    def expression(self, depth):
        """Returns an expression, mostly one whose parts have fitting types."""
        if self.chance(0.55):
            return self.pick([self.number, self.string, self.sequence, self.boolean])(depth)
        return self.wild(depth)

    def number(self, depth):
        if depth <= 0:
            return self.pick(["a", "f", "e.n[0]", self.pick(NUMBERS), "s | length", "b | int"])
        inner = lambda: self.number(depth - 1)
        return self.pick(
            [
                f"({inner()} {self.pick(ARITHMETIC[:5] + ['/'])} {inner()})",
                f"({self.sequence(depth - 1)} | {self.pick(['length', 'count', 'first', 'sum', 'max', 'min'])})",
                f"({self.string(depth - 1)} | length)",
                f"({inner()} | {self.pick(['abs', 'int', 'float', 'round', 'string | int', 'round(1)'])})",
                f"({inner()} if {self.boolean(depth - 1)} else {inner()})",
                f"(nope | default({inner()}))",
                "(-a)",
                inner(),
            ]
        )

    def string(self, depth):
        if depth <= 0:
            return self.pick(["s", "t", "raw", "d.a", "'x y'", "'abc'", "''", "e.cond"])
        inner = lambda: self.string(depth - 1)
        return self.pick(
            [
                f"({inner()} ~ {self.wild(depth - 1)})",
                f"({inner()} + {inner()})",
                f"({inner()} | {self.pick(['upper', 'lower', 'trim', 'title', 'quote', 'capitalize', 'b64encode', 'basename'])})",
                f"({inner()} | replace('a', {inner()}))",
                f"({inner()})[{self.pick(['0:2', '1:', '::-1', '-2:'])}]",
                f"({self.sequence(depth - 1)} | join({self.pick(['', repr(',')])}))",
                f"({inner()} if {self.boolean(depth - 1)} else {inner()})",
                f"({self.wild(depth - 1)} | default('u') | string)",
                self.pick(METHODS[:6]),
                f"({inner()} * 2)",
            ]
        )

    def sequence(self, depth):
        if depth <= 0:
            return self.pick(["l", "m", "[1, 2]", "['a', 'b']", "[]", "e.n", "(1, 2)", "range(3) | list"])
        inner = lambda: self.sequence(depth - 1)
        return self.pick(
            [
                f"[{self.number(depth - 1)}, {self.string(depth - 1)}]",
                f"({inner()} + {inner()})",
                f"({inner()} | {self.pick(['list', 'reverse | list', 'unique', 'map(chr34upperchr34) | list', 'flatten'])})".replace(
                    "chr34", '"'
                ),
                f"({inner()})[{self.pick(['0:1', '1:', '::-1', ':2'])}]",
                f"({inner()} | select('{self.pick(['defined', 'string', 'number'])}') | list)",
                f"(d | dict2items | {self.pick(['list', 'length', 'first'])})",
                self.pick(["d.keys() | list", "d.items() | list", "s.split()", "m | map(attribute='k') | list", "d | list"]),
                f"({inner()} if {self.boolean(depth - 1)} else {inner()})",
                f"({inner()} | default([]))",
            ]
        )

    def boolean(self, depth):
        if depth <= 0:
            return self.pick(["b", "true", "false", "a == 1", "nope is defined", "s is string", "not b"])
        number, string = lambda: self.number(depth - 1), lambda: self.string(depth - 1)
        return self.pick(
            [
                f"({number()} {self.pick(COMPARISONS[:6])} {number()})",
                f"({number()} < {number()} <= {number()})",
                f"({string()} {self.pick(COMPARISONS)} {string()})",
                f"({self.wild(depth - 1)} {self.pick(['==', '!='])} {self.wild(depth - 1)})",
                f"({self.wild(depth - 1)} {self.pick(['in', 'not in'])} {self.sequence(depth - 1)})",
                f"({self.wild(depth - 1)} is {self.pick(['', 'not '])}{self.pick(TESTS)})",
                f"({self.boolean(depth - 1)} {self.pick(['and', 'or'])} {self.boolean(depth - 1)})",
                f"(not {self.boolean(depth - 1)})",
                f"({self.pick(['nope', 'd.nope', 'e.k', 'z.x', 'd.k.a', 'm[0].k', 'm[7].k'])} is defined)",
            ]
        )

    def wild(self, depth):
        """Returns any expression, which often fails."""
        if depth <= 0:
            return self.name() if self.chance(0.6) else self.literal(1)
        inner = lambda: self.expression(depth - 1)
        kind = self.random.randrange(22)
        if kind < 3:
            return self.name()
        if kind == 3:
            return self.literal()
        if kind in (4, 5):
            return f"{self.postfix(depth)}.{self.pick(['k', 'a', 'n', 'x', 'nope', 'first', 'k.a', 'x'])}"
        if kind in (6, 7):
            return f"{self.postfix(depth)}[{self.pick(['0', '1', '-1', '9', repr('k'), repr('n'), repr('nope'), 'a', 's'])}]"
        if kind == 8:
            bounds = [self.pick(["", "0", "1", "-1", "2", "a", "'x'"]) for _ in range(2)]
            return f"{self.postfix(depth)}[{bounds[0]}:{bounds[1]}{self.pick(['', '', ':2', ':-1'])}]"
        if kind == 9:
            return f"({inner()} {self.pick(ARITHMETIC)} {inner()})"
        if kind == 10:
            return f"({inner()} {self.pick(COMPARISONS)} {inner()})"
        if kind == 11:
            return f"({inner()} {self.pick(['and', 'or'])} {inner()})"
        if kind == 12:
            return self.pick([f"(not {inner()})", f"(-{self.postfix(depth)})", f"({inner()} if {inner()})"])
        if kind == 13:
            return f"({inner()} if {inner()} else {inner()})"
        if kind in (14, 15):
            return f"({inner()} | {self.filter(depth)})"
        if kind == 16:
            return f"({inner()} is {self.pick(['', 'not '])}{self.test(depth)})"
        if kind == 17:
            return self.pick([f"[{inner()}, {inner()}]", f"{{'k': {inner()}, {inner()}: {inner()}}}", f"({inner()}, {inner()})"])
        if kind == 18:
            return self.pick(METHODS)
        if kind == 19:
            return self.function(depth)
        if kind == 20:
            return self.pick(["omit", "undef()", "undef('hint')", "range(3)", "range(a)", "range(1, 9, 3)", "loop.index"])
        return f"({inner()} | default({inner()}{self.pick(['', '', ', true', ', boolean=true'])}))"

    def postfix(self, depth):
        return self.pick([self.name(), self.name(), f"({self.expression(depth - 1)})"])

    def filter(self, depth):
        inner = lambda: self.expression(depth - 1)
        return self.pick(
            [self.pick(PLAIN_FILTERS)] * 5
            + [
                f"d({inner()})",
                f"ternary({inner()}, {inner()})",
                f"join({self.pick([repr(','), inner()])})",
                f"map({self.pick([repr('upper'), repr('string'), repr('int'), repr('default') + ', 1'])}) | list",
                f"map(attribute={self.pick([repr('k'), repr('n'), '0'])}) | list",
                f"select({self.pick([repr('defined'), repr('string'), repr('number'), repr('eq') + ', 1'])}) | list",
                f"reject('undefined') | list",
                f"selectattr('k') | list",
                f"selectattr('k', 'defined') | list",
                f"combine({inner()})",
                f"replace('a', {inner()})",
                f"int({inner()})",
                f"mandatory({self.pick([repr('message'), ''])})",
                f"batch(2) | list",
                f"zip({inner()}) | list",
                f"regex_replace('^(.)', '\\\\1\\\\1')",
                f"format({inner()})",
            ]
        )

    def test(self, depth):
        inner = lambda: self.expression(depth - 1)
        return self.pick(
            [self.pick(TESTS)] * 5
            + [
                f"sameas({self.pick(['none', 'true', 'false'])})",
                f"eq({inner()})",
                f"divisibleby({self.pick(['1', '2', '3'])})",
                f"in({inner()})",
                f"contains({inner()})",
                f"match({self.pick([repr('a'), repr('.*')])})",
                f"subset({inner()})",
                f"gt({inner()})",
            ]
        )

    def function(self, depth):
        inner = lambda: self.expression(depth - 1)
        return self.pick(
            [
                f"lookup('vars', '{self.pick(NAMES)}')",
                f"lookup('vars', {inner()}, default={inner()})",
                f"query('vars', '{self.pick(NAMES)}', 's')",
                f"lookup('items', {inner()})",
                f"query('items', {inner()}, {inner()})",
                f"lookup('list', {inner()})",
                f"query('dict', {inner()})",
                f"query('together', {inner()}, {inner()})",
                f"query('nested', {inner()}, {inner()})",
                f"query('indexed_items', {inner()})",
                f"query('dict', {inner()}, errors='ignore')",
                f"lookup('items', '{{{{ {self.pick(NAMES)} }}}}')",
                f"query('sequence', '{self.pick(['3', '2-8/3', 'count=2', 'start=1 end=2', '3:x%02d', 'end=0', 'q'])}')",
                f"dict(a={inner()})",
                f"dict({inner()})",
                f"{self.pick(['m1', 'm2'])}({inner()})",
                f"namespace(x={inner()}).x",
                f"cycler({inner()}, 1).next()",
                f"range({inner()}) | list",
            ]
        )

    def emit(self, depth):
        open_, close = self.pick([("{{ ", " }}")] * 8 + [("{{- ", " }}"), ("{{ ", " -}}"), ("{{", "}}")])
        return f"{open_}{self.expression(depth)}{close}"

    def tag(self, inner):
        open_, close = self.pick([("{% ", " %}")] * 8 + [("{%- ", " %}"), ("{% ", " -%}"), ("{%- ", " -%}")])
        return f"{open_}{inner}{close}"

    def text(self):
        return self.pick(["", "", "x", " ", "\n", "a b", "-", "\n\n", "text\n", "{# c #}", "%", "}"])

    def body(self, depth):
        return "".join(self.part(depth) for _ in range(self.random.randrange(1, 4)))

    def part(self, depth):
        kind = self.random.randrange(20)
        if kind < 5 or depth <= 0:
            return self.pick([self.text(), self.emit(1)])
        if kind < 9:
            return self.emit(2)
        if kind == 9:
            middle = self.pick(["", self.tag("else") + self.body(depth - 1), self.tag(f"elif {self.expression(1)}") + self.body(0)])
            return self.tag(f"if {self.expression(2)}") + self.body(depth - 1) + middle + self.tag("endif")
        if kind in (10, 11):
            return self.loop(depth)
        if kind in (12, 13):
            name = self.pick(["v", "w", "a"])
            made = self.tag(f"set {name} = {self.expression(2)}")
            self.locals.append(name)
            return made
        if kind == 14:
            self.locals.append("v")
            return self.tag(self.pick(["set v", "set v | upper"])) + self.body(depth - 1) + self.tag("endset")
        if kind == 15:
            return self.tag(f"filter {self.pick(['upper', 'trim', 'length', 'replace(1, 2)'])}") + self.body(0) + self.tag("endfilter")
        if kind == 16:
            return self.tag(f"with w = {self.expression(1)}") + self.body(depth - 1) + self.tag("endwith")
        if kind == 17:
            return self.macro(depth)
        if kind == 18:
            return self.pick(
                ["{% raw %}{{ x }}{% endraw %}", "{% raw %}\n{% if %}\n{% endraw %}\n", "{# {{ nope }} #}", "{{ '{{ a }}' }}"]
            )
        return self.tag("set ns = namespace(x=0)") + self.loop(depth, "{% set ns.x = ns.x + 1 %}") + "{{ ns.x }}"

    def loop(self, depth, inner=""):
        target = self.pick(["i", "i", "i", "k, v"])
        over = self.pick([self.expression(1), "l", "d", "d.items()", "range(3)", "[1, 2]", "[[1, 2]]", "s", self.sequence(1), self.sequence(2), "e.n"])
        head = f"for {target} in {over}{self.pick(['', '', '', ' if i', ' recursive'])}"
        outer, self.locals = self.locals, self.locals + ["i", "v"]
        emits = ["loop.index", "loop.last", "loop.length", "loop.previtem | default('-')", "loop.cycle('o', 'e')", "loop.revindex0"]
        body = self.body(depth - 1) + self.pick(["", "{{ i }}", "{{ " + self.pick(emits) + " }}"]) + inner
        tail = self.pick(["", "", self.tag("else") + self.body(0)])
        self.locals = outer
        return self.tag(head) + body + tail + self.tag("endfor")

    def macro(self, depth):
        name = self.pick(["m1", "m2"])
        outer, self.locals = self.locals, self.locals + ["p", "q"]
        extra = self.pick(["", "{{ p }}", "{{ varargs }}", "{{ kwargs }}", "{{ caller() }}"])
        body = self.body(depth - 1) + extra
        self.locals = outer
        made = self.tag(f"macro {name}({self.pick(['p', 'p, q=1', 'p=a', ''])})") + body + self.tag("endmacro")
        arguments = self.pick(["", "1", self.expression(1), "p=2", "1, 2", "1, r=3", "*l", "**d"])
        if self.chance(0.3):
            return made + self.tag(f"call {name}({arguments})") + self.body(0) + self.tag("endcall")
        return made + "{{ " + f"{name}({arguments})" + " }}"

    def template(self):
        kind = self.random.randrange(10)
        if kind < 4:
            return self.emit(3) + self.pick(["", "", "", "\n"])
        if kind < 9:
            return self.text() + self.body(3) + self.text()
        value = {"p": self.emit(2), "q": [self.emit(1), 1, "plain"], "r": {"x": self.emit(1)}}
        return value if self.chance(0.5) else list(value.values())

    def condition(self):
        return self.pick(
            [self.expression(2)] * 4
            + [f"({self.expression(2)}) is {self.pick(['', 'not '])}defined"]
            + [f"{self.expression(1)} == {self.expression(1)}"] * 3
            + [
                f"({self.expression(2)}) | bool",
                "{{ cond }}",
                "{{ " + self.expression(1) + " }}",
                "{{ e.cond }}",
                "{{ cond | default(true) }}",
                f"'{{{{ {self.pick(NAMES)} }}}}' == {self.literal(0)}",
                self.pick(["", " ", "true", "yes", "a ==", "{{ a }} == 1", "{% if a %}a{% endif %}", " a == 1 ", "a == 1\n"]),
                self.pick([True, False, None, 1, ["a == 1"]]),
            ]
        )

    def data(self, depth):
        kind = self.random.randrange(10 if depth > 0 else 7)
        if kind < 2:
            return self.pick([0, 1, 2, 7, -1, 10])
        if kind == 2:
            return self.pick([1.5, 0.0, True, False, None])
        if kind < 6:
            return self.pick(TEXTS)
        if kind == 6:
            return self.emit(1)
        if kind < 9:
            return [self.data(depth - 1) for _ in range(self.random.randrange(4))]
        return {self.pick(KEYS): self.data(depth - 1) for _ in range(self.random.randrange(4))}

    def variables(self):
        made = {
            "a": self.pick([1, 2, 0, 5]),
            "b": self.pick([True, False]),
            "c": self.data(1),
            "n": None,
            "s": self.pick(["abc", "text", "a b", "5"]),
            "t": self.pick([" x y ", "l1\nl2\n", "7"]),
            "l": self.pick([[1, 2, 3], [3, 1], ["a", "b"], ["a", "b"], [], [1, "a", None], ["{{ a }}", 2], ["{{ nope }}", 1]]),
            "m": [{"k": self.data(0), "n": 1}, {"k": "y"}],
            "d": self.pick([{"k": 1, "a": "x"}, {"k": {"a": 1}, "n": "{{ s }}", "a": "y"}, {"k": "{{ nope }}", "a": "x"}, {"a": "z"}]),
            "e": {"n": [1, 2], "k": self.data(1), "cond": "a == 1"},
            "f": self.pick([1.5, 0.25, -2.0]),
            "z": self.data(2),
            "tpl": self.emit(2),
            "bad": self.pick(["{{ 1 < 'a' }}", "{{ nope.x }}", "{{ 1 / 0 }}", "{{ tpl }}", "{{ x", "{{ d.k.a.b }}", "{{ bad }}"]),
            "cond": self.pick(["a == 1", "nope", "b", "{{ b }}", "a is defined", "", "{{ cond2 }}"]),
            "cond2": "b",
        }
        return json.dumps(made)[:-1] + ", \"raw\": !unsafe '{{ a }}'}"

    def case(self):
        self.locals = []
        kind = self.pick(["template"] * 6 + ["condition"] * 2 + ["expression"])
        text = {"template": self.template, "condition": self.condition, "expression": lambda: self.expression(3)}[kind]()
        if kind == "expression" and not isinstance(text, str):
            text = str(text)
        return {"kind": kind, "text": json.dumps(text), "variables": self.variables()}
