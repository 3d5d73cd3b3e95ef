"""Texts about the language of templates, made at random: whole ones, and the same damaged.

Unlike those of `generate.py` they have operators without parentheses, blanks and signs wherever the language takes some, and all
forms of literals, tests, arguments, subscripts, targets and statements. Their variables are few, and the same in each case.
"""

VARIABLES = {
    "a": 2,
    "b": 3,
    "c": -1,
    "f": 1.5,
    "s": "text",
    "t": " x y ",
    "e": "",
    "l": [3, 1, 2],
    "m": [[1, 2], [3, 4]],
    "d": {"k": 1, "x y": 2, "items": 5, "z": {"k": [7, 8]}},
    "y": True,
    "n": None,
    "größe": 4,
    "数": 5,
    "_u": 6,
    "iffy": 7,
    "notx": 8,
    "x1": 9,
}
NAMES = ["a", "b", "c", "f", "s", "l", "d", "y", "n", "größe", "数", "_u", "iffy", "notx", "x1", "nope", "m", "t", "e"]
NUMBERS = ["0", "1", "2", "3", "7", "10", "1_0", "0x1f", "0XA_b", "0o17", "0b1_01", "1.5", "2.0", "1e1", "1E-1", "1_0.5", "00", "0_0", "1.5e+2"]
ODD_NUMBERS = ["007", "1.", ".5", "1__0", "1_", "0x", "0b2", "1e", "1.e1", "1.5.1", "0xg", "9" * 30, "1e999", "00.5", "0_7", "1_e5"]
BINARY = ["+", "-", "*", "//", "/", "%", "~", "**"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
FILTERS = [
    "abs", "int", "float", "string", "length", "list", "upper", "default(1)", "default('x', true)", "first", "last", "round(1)",
    "join(', ')", "join", "sort(reverse=true)", "replace('t', 'q')", "default(value=2)", "map('abs') | list", "ansible.builtin.bool",
    "d(3)", "batch(2) | list", "type_debug", "trim", "reverse | list", "sum(start=1,)",
]
TESTS = [
    "defined", "undefined", "none", "string", "number", "odd", "even", "eq 2", "eq(2)", "eq a", "gt 1", "in l", "in [1, 2]", "in(l)",
    "divisibleby 2", "divisibleby(2)", "sameas true", "mapping", "sequence", "eq 'text'", "eq l[0]", "eq d.k", "lt 2.5", "ge b",
    "ansible.builtin.truthy", "eq {'k': 1}", "contains(1)", "eq -3", "eq b | abs", "eq b.real", "iterable", "ne none", "true", "false",
]
BLANKS = ["", "", "", "", " ", " ", "  ", "\n", "\t", "\u00a0", " \n ", "\u2003", "\x0b", "\u2028"]
PIECES = [
    "{{", "}}", "{%", "%}", "{#", "#}", "-", "+", "(", ")", "[", "]", "{", "}", ",", ".", ":", "|", "~", "=", "==", "!", "?", ";", "'", '"', "\\",
    " is ", " not ", " in ", " if ", " else ", " and ", " or ", " recursive ", "*", "**", "/", "//", "%", "<", "&", "^", "@", "$", "`",
    "1", "007", "1.", "0x", "_", "a", "é", "²", "\u00a0", "\n", " ", "endif", "endfor", "else", "elif", "raw", "endraw", "{% raw %}",
    "{% endraw %}", "{% endif %}", "{% else %}", "{%-", "-%}", "{%+", "+%}", "{{-", "-}}", "{#-", "-#}", "none", "true", "loop",
    "\\x4", "\\u12", "'a' 'b'", "set", "for", "\r\n", "\r", "\u0301", "\u200d", "۳",
]
HEADERS = [
    "trim_blocks: False", "lstrip_blocks: True", "variable_start_string: '[[', variable_end_string: ']]'", "keep_trailing_newline: True",
    "block_start_string: '<%', block_end_string: '%>'", "line_statement_prefix: '%'", "line_comment_prefix: '##'",
    "comment_start_string: '/*', comment_end_string: '*/'", "newline_sequence: '\\r\\n'", "trim_blocks: False, lstrip_blocks: True",
    "line_statement_prefix: '#', line_comment_prefix: '//'", "variable_start_string: '{%=', variable_end_string: '%}'", "foo: 1", "trim_blocks",
]


class Generator:
    """Makes cases with numbers from a source of chance."""

    def __init__(self, random):
        self.random = random
        self.names = NAMES

    def pick(self, items):
        return self.random.choice(items)

    def chance(self, share):
        return self.random.random() < share

    def blank(self):
        return self.pick(BLANKS)

    def string(self):
        body = "".join(self.pick(["a", "b", " ", "é", "t", "\\n", "\\'", "\\\\", "\\x41", "\\u00e9", "\\101", "\\q", "\\\n", "\\é", "{", "%}", "}}", "#"]) for _ in range(self.random.randrange(4)))
        if self.chance(0.5):
            return "'" + body + "'"
        return '"' + body.replace("\\'", '\\"') + '"'

    def literal(self, depth):
        kind = self.random.randrange(12 if depth > 0 else 7)
        if kind < 3:
            return self.pick(NUMBERS)
        if kind == 3:
            return self.string() + (self.blank() + self.string() if self.chance(0.2) else "")
        if kind == 4:
            return self.pick(["true", "false", "none", "True", "False", "None"])
        if kind == 5:
            return self.pick(ODD_NUMBERS) if self.chance(0.15) else self.pick(NUMBERS)
        if kind == 6:
            return self.pick(["[]", "{}", "()", "''"])
        items = [self.expression(depth - 1) for _ in range(self.random.randrange(4))]
        end = self.pick(["", "", "", ","]) if items else ""
        if kind == 7:
            return "(" + self.blank() + ", ".join(items) + self.pick([",", ",", "", end]) * bool(items) + self.blank() + ")"
        if kind == 8:
            pairs = [self.pick(["'k'", "1", "a", "'x y'", self.expression(0)]) + self.blank() + ":" + self.blank() + item for item in items]
            return "{" + ", ".join(pairs) + end + "}"
        return "[" + self.blank() + ", ".join(items) + end + self.blank() + "]"

    def arguments(self, depth):
        made = [self.expression(depth - 1) for _ in range(self.random.randrange(3))]
        if self.chance(0.3):
            made.append(f"{self.pick(['x', 'y', 'default'])}={self.expression(depth - 1)}")
        if self.chance(0.1):
            made.append(f"{self.pick(['x', 'y', 'z'])} = {self.expression(0)}")
        if self.chance(0.15):
            made.append("*" + self.pick(["l", "[1]", "m[0]"]))
        if self.chance(0.15):
            made.append("**" + self.pick(["{}", "{'q': 1}", "d"]))
        if self.chance(0.1):
            self.random.shuffle(made)
        return "(" + self.blank() + ("," + self.blank()).join(made) + self.pick(["", "", "", ","]) * bool(made) + ")"

    def subscript(self, depth):
        bound = lambda: self.pick(["", "", "0", "1", "-1", "2", "a", self.expression(depth - 1)])
        return self.pick(
            [
                f"[{self.blank()}{self.expression(depth - 1)}]",
                "[0]",
                "[0, 1]",
                "['k']",
                f"[{bound()}:{bound()}]",
                f"[{bound()}:{bound()}:{bound()}]",
                "[::-1]",
                "[1:2, 3]",
                "[]",
                "[1,]",
            ]
            if self.chance(0.5)
            else ["[0]", "[1]", "[-1]", "[::-1]", "[:2]", "['k']"]
        )

    def operand(self, depth):
        kind = self.random.randrange(14)
        if kind < 4 or depth <= 0:
            made = self.pick(self.names) if self.chance(0.6) else self.literal(0)
        elif kind < 7:
            made = self.literal(depth)
        elif kind < 10:
            made = "(" + self.blank() + self.expression(depth - 1) + self.blank() + ")"
        elif kind == 10:
            made = self.pick(["dict", "lookup", "s.format", "nope", "d"]) + self.arguments(depth)
        else:
            made = self.pick(["m[0]", "d.k", "d.z.k", "d['x y']", "m.0.1", "m[1][0]", "d['items']", "l", "d.z['k'].0", "s[1]", "s[1:]"])
        if self.chance(0.12):
            made += self.pick([".k", ".0", ".real", "." + self.pick(NAMES), ".1.0", " . k", ".'k'"])
        if self.chance(0.12):
            made += self.subscript(depth)
        if self.chance(0.25):
            made = self.pick(["-", "+", "- ", "--", "-+", "not ", "not not "]) + made
        return made

    def modified(self, depth):
        made = self.operand(depth)
        while self.chance(0.3):
            if self.chance(0.5):
                made += self.blank() + "|" + self.blank() + self.pick(FILTERS)
            else:
                made += " is " + self.pick(["", "", "", "not "]) + self.pick(TESTS)
        return made

    def expression(self, depth):
        made = self.modified(depth)
        powers = 0
        while self.chance(0.4):
            kind = self.random.randrange(10)
            if kind < 5:
                operator = self.pick(BINARY)
                powers += operator == "**"
                operator = "*" if powers > 2 and operator == "**" else operator
                blank = self.blank()
                made += f"{blank}{operator}{self.blank()}"
            elif kind < 8:
                made += f" {self.pick(COMPARISONS)} "
            else:
                made += f" {self.pick(['and', 'or'])} "
            made += self.modified(depth - 1)
        if self.chance(0.08):
            made += f" if {self.modified(depth - 1)}"
            if self.chance(0.8):
                made += f" else {self.expression(depth - 1)}"
        return made

    def emit(self, depth=2):
        open_, close = self.pick(["{{ ", "{{ ", "{{", "{{- ", "{{-", "{{\n"]), self.pick([" }}", " }}", "}}", " -}}", "-}}", "\n}}"])
        more = ", " + self.expression(1) if self.chance(0.04) else ""
        return open_ + self.expression(depth) + more + close

    def tag(self, inner):
        open_, close = self.pick(["{% ", "{% ", "{%", "{%- ", "{%-", "{%+ ", "{%+"]), self.pick([" %}", " %}", "%}", " -%}", "-%}", " +%}", "+%}"])
        return open_ + inner + close

    def text(self):
        return self.pick(["", "", "x", " ", "\n", "  ", "a b", "\n\n", " \n ", "text\n", "  \t", "%", "}", "é", "{", "# x", "\n% if a\n", "## c", "\r\n", "{# c #}", "{#- c -#}", "{# c +#}", "{# {{ a }}\n#}\n", "  {# c #}\n"])

    def target(self):
        return self.pick(["v", "v", "w", "v, w", "(v, w)", "v, (w, u)", "v,", "ns.x", "ns.x, v", "_v", "größer", "(v)", "[v, w]", "v.x.y", "v[0]", "1", "true", "loop", "()"])

    def body(self, depth):
        return "".join(self.part(depth) for _ in range(self.random.randrange(1, 4)))

    def part(self, depth):
        kind = self.random.randrange(30)
        if kind < 6 or depth <= 0:
            return self.text()
        if kind < 14:
            return self.emit()
        if kind < 17:
            return self.condition(depth)
        if kind < 19:
            return self.loop(depth)
        if kind < 22:
            value = self.pick([self.expression(1), self.expression(1), "1, 2", "[1, 2]", "namespace(x=1)", "1,"])
            made = self.tag(f"set ns = namespace(x=1)") if self.chance(0.2) else ""
            return made + self.tag(f"set {self.target() if self.chance(0.3) else self.pick(['v', 'w'])}{self.blank()}={self.blank()}{value}") + self.pick(["", "{{ v }}", "{{ w }}"])
        if kind == 22:
            return self.tag(self.pick(["set v", "set v | upper", "set v | trim | upper", "set v, w", "set v | replace('x', 'y')"])) + self.body(depth - 1) + self.tag("endset") + self.pick(["", "{{ v }}"])
        if kind == 23:
            return self.tag(f"filter {self.pick(['upper', 'trim | upper', 'replace(1, 2)', 'length', 'ansible.builtin.trim'])}") + self.body(0) + self.tag("endfilter")
        if kind == 24:
            return self.tag(self.pick(["with", "with v = 1", "with v = a, w = v", f"with v, w = {self.expression(1)}", "with v = 1,", "with loop = 2"])) + self.body(depth - 1) + self.tag("endwith")
        if kind == 25:
            return self.macro(depth)
        if kind == 26:
            return self.tag("raw").replace("+%}", self.pick(["%}", "+%}"])) + self.pick(["{{ x }}", "\n{% if %}\n", "{#", " x "]) + self.tag("endraw") + self.text()
        if kind == 27:
            return self.tag(f"print {self.expression(1)}{self.pick(['', ', 2', ','])}")
        if kind == 28:
            return self.tag(f"autoescape {self.pick(['true', 'false', 'a'])}") + self.body(depth - 1) + self.tag("endautoescape")
        return self.other(depth)

    def other(self, depth):
        return self.pick(
            [
                self.tag("block q") + self.body(0) + self.tag(self.pick(["endblock", "endblock q", "endblock r"])),
                self.tag("block q scoped") + "{{ a }}" + self.tag("endblock"),
                self.tag("block q required") + self.text() + self.tag("endblock"),
                self.tag("block q-r") + self.tag("endblock"),
                self.tag(self.pick(["include 'x'", "include 'x' ignore missing", "include ['x', 'y'] ignore missing with context", "include 'x' without context"])),
                self.tag(self.pick(["import 'x' as v", "from 'x' import v", "from 'x' import v as w, u with context", "from 'x' import _v", "from 'x' import v,", "import 'x'"])),
                self.tag("extends 'x'"),
                self.tag(self.pick(["do a", "break", "continue", "debug", "trans", "endif", "else", "elif a", "foo", "", "1", "'if'", "endfor", "set", "if", "for", "for a", "macro", "call", "filter", "with a"])),
            ]
        )

    def condition(self, depth):
        made = self.tag(f"if {self.expression(2)}{self.pick(['', '', '', ':', ', a'])}") + self.body(depth - 1)
        while self.chance(0.25):
            made += self.tag(f"elif {self.expression(1)}") + self.body(depth - 1)
        if self.chance(0.4):
            made += self.tag("else") + self.body(depth - 1)
        return made + self.tag("endif")

    def loop(self, depth):
        target = self.target() if self.chance(0.3) else self.pick(["v", "v, w"])
        over = self.pick(["l", "m", "d", "range(2)", "[1, 2]", "1, 2", "m, l", self.expression(1), "d.items()", "[]"])
        test = self.pick(["", "", "", " if v", " if v is odd", f" if {self.expression(1)}"])
        made = self.tag(f"for {target} in {over}{test}{self.pick(['', '', '', ' recursive', ' if a recursive'])}")
        made += self.body(depth - 1) + self.pick(["", "{{ v }}", "{{ loop.index }}", "{% set v = 1 %}", "{{ w }}"])
        if self.chance(0.25):
            made += self.tag("else") + self.body(depth - 1)
        return made + self.tag("endfor")

    def macro(self, depth):
        parameters = self.pick(["", "p", "p, q=1", "p=a, q=p", "p=1, q", "p, p", "caller", "caller=1", "p, varargs", "p,", "kwargs"])
        body = self.body(depth - 1) + self.pick(["", "{{ p }}", "{{ varargs }}", "{{ kwargs }}", "{{ caller() }}", "{{ caller(1) }}", "{% set caller = 1 %}{{ caller }}"])
        made = self.tag(f"macro mm({parameters})") + body + self.tag("endmacro")
        arguments = self.pick(["()", "(1)", "(1, 2)", "(p=1)", "(1, q=2)", "(*l)", "(**{'p': 1})", "(1, 2, 3, r=4)", self.arguments(1)])
        if self.chance(0.4):
            return made + self.tag(f"call{self.pick(['', '', '(v)', '(v=1)', '()'])} mm{arguments}{self.pick(['', '', '', ' | upper'])}") + self.body(0) + "{{ v }}" + self.tag("endcall")
        return made + "{{ mm" + arguments + " }}"

    def template(self):
        self.names = NAMES + ["v", "w"]
        made = self.emit(3) if self.chance(0.35) else self.text() + self.body(3) + self.text()
        if self.chance(0.1):
            header = self.pick(HEADERS)
            if "'[['" in header:
                made = made.replace("{{", "[[").replace("}}", "]]")
            if "'<%'" in header:
                made = made.replace("{%", "<%").replace("%}", "%>")
            if "'/*'" in header:
                made = made.replace("{#", "/*").replace("#}", "*/")
            made = f"#jinja2: {header}\n{made}"
        return made

    def damage(self, text):
        for _ in range(self.pick([1, 1, 1, 2, 3])):
            at = self.random.randrange(len(text) + 1)
            kind = self.random.randrange(5)
            if kind < 2:
                text = text[:at] + self.pick(PIECES) + text[at:]
            elif kind == 2:
                text = text[:at] + text[at + self.random.randrange(1, 4) :]
            elif kind == 3:
                end = min(len(text), at + self.random.randrange(1, 12))
                to = self.random.randrange(len(text) + 1)
                text = text[:to] + text[at:end] + text[to:]
            else:
                text = text[:at] + self.pick(PIECES) + text[at + 1 :]
        return text

    def case(self):
        kind = "expression" if self.chance(0.2) else "template"
        self.names = NAMES
        text = self.expression(3) if kind == "expression" else self.template()
        if self.chance(0.4):
            text = self.damage(text)
        return {"kind": kind, "text": text}
