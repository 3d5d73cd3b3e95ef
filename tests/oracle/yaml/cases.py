"""Texts that are hard to read: written by hand, each for one rule of YAML 1.1, of PyYAML, or of Ansible."""

SCALARS = """
~ null Null NULL nULL yes Yes YES yEs no on On off OFF y n Y N true True TRUE tRue false 0 -0 +0 00 0644 -0644 08 09 0o17 0b0 0b 0b_ 0b12
0x 0x_ 0xF 0xfF_ 0xg 1_000 _1 1_ 1__0 123456789012345678901234567890 0x123456789abcdef0123456789 0777777777777777777777777 1:30 1:60 0:30
-1:30 1:5 1:05:09 1:3x 190:20:30 190:20:30.15 1:30. 0:0.0 1. .5 -.5 +.5 1.5 1.5e3 1.5e+3 1.5E-3 1e3 1e+3 1.e+3 ._5 1._5 1_0.0_5 1.5e+1_0 ..
. + - .inf .Inf .INF .iNf -.inf +.inf .nan .NaN .NAN -.nan 1.7976931348623157e+400 4.9e-324 2001-12-14 2001-1-4 2001-13-01 2001-02-29
2000-02-29 0000-01-01 9999-12-31 2001-12-14T21:59:43Z 2001-12-14t21:59:43.10-05:00 2001-12-14T1:59:43 2001-12-14T21:59:60
2001-12-14T21:59:43.1234567 2001-12-14T21:59:43+23:59 2001-12-14T21:59:43+24 2001-12-14T21:59:43.+1:30 2001-12-14T21:59 = << < * & ! !!
"" '' "a" 'it''s' "\\x41" "\\u00e9" "\\U0001F600" "\\ud800" "\\e" "\\/" "\\_\\N\\L\\P" "\\q" "\\x4" a:b a::b :a a: a# #a a#b %a @a `a |a >a ,a [a
]a {a }a ?a -a --a --- ... ? : :: -: a,b a]b {{x}} {{x {%x%} [] {} [a,b] {a,b} {a:b} {"a":b} {a: b} [a: b] [a:] [?a] [a?b] {a?} [:a] {,} [,] [a,]
é \ufeffa \x85 \u2028 \x7f \x01 \ud7ff \ue000 \ufffe \U00010000 \xa0
"""

SPACED = [
    "2001-12-14 21:59:43", "2001-12-14 \t 21:59:43.5 -5", "2001-12-14  1:59:43 Z", "a b", "a  b", "a\tb", "a \t# c", "a #b", "a: b", "- a",
    "- - a", "-  a", "a :b", "a : b", "'a' b", '"a" b', '"a": b', "!!str 1", "!!int '1'", "!!int 1.5", "!!int ' 1 '", "!!int 0o17", "!!int ''",
    "!!float 1", "!!float 1e3", "!!float inf", "!!float nan", "!!float 1:30", "!!float x", "!!bool YES", "!!bool maybe", "!!null x", "!!str",
    "!!binary aGVsbG8=", "!!binary a", "!!binary 'a GVs\n bG8='", "!!binary é", "!!timestamp 2001-1-4", "!!timestamp x", "!!seq [a]", "!!seq {}",
    "!!seq a", "!!map {a: b}", "!!map [a]", "!!map a", "!!set {a, b}", "!!set {a: 1}", "!!set [a]", "!!omap [a: 1, b: 2]", "!!omap [a]", "!!omap a",
    "!!omap [{a: 1, b: 2}]", "!!pairs [a: 1, a: 2]", "!!pairs {a: 1}", "!!python/unicode a", "!!python/dict {a: b}", "!!python/object:x.y a",
    "!!foo a", "!foo a", "!foo [a]", "! 12", "! a", "! [a]", "! {a: b}", "!<tag:yaml.org,2002:int> 12", "!<!unsafe> a", "!vault a", "!vault 12",
    "!vault [a]", "!vault '12'", "!vault-encrypted a", "!unsafe a", "!unsafe 12", "!unsafe '12'", "!unsafe yes", "!unsafe '{{ a }}'", "!unsafe =",
    "!unsafe <<", "!unsafe [a, {b: c}, 1]", "!unsafe {a: !unsafe b}", "!unsafe [!!str 1, !vault a]", "!unsafe '~'", "!!merge a", "!!value a",
    "!!str {=: 5}", "!!int {=: '5', a: b}", "!!str {a: b}", "!!str {=: {=: a}}", "!!str [a]", "&a b", "&a", "&a [*a]", "&a {b: *a}", "*a", "&a-b_1 c",
    "&é x", "[&a b, *a]", "[&a b, *a , *a]", "[&a b, &a c, *a]", "{&a b: *a}", "{&a b: c, *a : d}", "[&a [x], &b [*a, *a], [*b, *b]]", "{a: {b: c}, a: d}",
]

BLOCKS = [
    "", "\n", " ", "\t", "# c", "# c\n", "---", "--- # c\n", "---\n---\n", "--- a\n...\n", "--- a\n... # c\n", "a\n...\nb", "a\n---\nb", "...", "--- |\n  a\n",
    "--- >\n a\n", "---a", "--- - a\n", "--- a: b\n", "%YAML 1.1\n---\na: yes\n", "%YAML 1.2\n---\na: yes\n", "%YAML 1.3\n---\na\n", "%YAML 2.0\n---\na\n",
    "%FOO bar\n---\na\n", "%TAG ! tag:yaml.org,2002:\n---\n!int '1'\n", "%TAG !y! tag:yaml.org,2002:\n---\n!y!int '1'\n", "%TAG !y! x\n%TAG !y! z\n---\na\n",
    "!y!int 1", "a: b\n", "a:\n", "a:\nb:\n", "a: \n  b\n", "a:\n- b\n- c\n", "a:\n - b\n - c\n", "- a\n- b", "- a\n b\n", "- a\n  b\n", "-\n  a\n", "-\ta\n",
    "- \ta\n", "a:\tb\n", "a: \tb\n", "a:\n\tb\n", "a:\n  b\n\tc\n", "\ta: b\n", " a: b\n", "a: b\n c: d\n", "a: b\n  c: d\n", "a:\n  b: c\n d: e\n",
    "a:\n    b: c\n  d: e\n", "a: b: c\n", "a: b\nc\n", "a: b\nc\nd: e\n", "a\nb: c\n", "a: 'b\n  c'\n", "a: 'b\n\n  c'\n", "a: \"b\n c\\\n   d\\n\n e\"\n",
    "a: \"b\n---\nc\"\n", "a: \"b\n--- c\"\n", "a: \"b", "a: 'b", "a: [b", "a: {b", "a: [b\n]\n", "a: [\nb\n]\n", "a: {b: c\n}\n", "a: [b, c\nd: e\n", "a: {{ b }}\n",
    "a: {{ b }}-c\n", "a: \"{{ b }}\" c\n", "a: {% b %}\n", "a: [{{ b }}]\n", "- {{ a }}\n", "{{ a }}: b\n", "? a\n: b\n", "? a\n", "? [a]\n: b\n", "? {a: b}\n: c\n",
    "? |\n  a\n: b\n", "?\n: b\n", ": b\n", "[a]: b\n", "{a: b}: c\n", "a: |\n  b\n  c\n", "a: |-\n  b\n", "a: |+\n  b\n\n\n", "a: |2\n    b\n   c\n", "a: |2-\n   b\n",
    "a: |-2\n   b\n", "a: |0\n b\n", "a: |10\n b\n", "a: | # c\n  b\n", "a: |#c\n  b\n", "a: |x\n  b\n", "a: |\n\n  b\n", "a: |\n    \n  b\n", "a: |\n  b\n # c\nd: e\n",
    "a: |\n\tb\n", "a: |\n  \tb\n", "a: >\n  b\n  c\n\n  d\n   e\n  f\n", "a: >-\n  b\n\n\n  c\n", "a: >+\n  b\n\n", "a: >\n\n\n  b\n", "- |\n a\n- >\n b\n", "|\na\n", "|\n a",
    "a: |\nb: c\n", "a: |\n", "a: >", "a\r\nb\r\n", "a: b\rc: d\r", "a: |\r\n  b\r\n  c\r\n", "a: \"b\r\n c\"\r\n", "a:\x85  b\n", "a: b\u2028c: d\n", "a: 'b\u2029c'\n", "a: |\n  b\u2028  c\n",
    "\ufeffa: b\n", "\ufeff# c\na: b\n", "a: \ufeffb\n", "a: b\n\ufeffc: d\n", "\ufeff\ufeffa: b\n", "\ufeff", "a: b\x00", "a: \x07\n", "a: b # c\n# d\ne: f\n", "a: b# c\n", "a: # c\n  b\n",
    "a: #c\n", "- # c\n- a\n", "a:# b\n", "#a\n#b", "a: [b, # c\n c]\n", "a: {b: c, # d\n}\n", "a: [b#c]\n", "a: 'b'#c\n", "a: 'b' #c\n", "a: b\n--- # x\n", "- a\n-b\n", "- a\n -b\n", "-a\n",
    "- a: b\n  c: d\n", "- a: b\n c: d\n", "- a: b\n   c: d\n", "-   a: b\n    c: d\n", "- - a\n  - b\n- c\n", "- ? a\n  : b\n", "- !!str\n- &a\n- *a\n", "a: &b\nc: *b\n", "&a b: c\n", "&a\nb: c\n",
    "a: &b\n  c: d\n", "a: !!map\n  c: d\n", "!!map\na: b\n", "!!map {a: b}\n", "a: !unsafe\n  b: c\n", "a: !unsafe |\n  {{ b }}\n", "a: !unsafe |\n  yes\n", "a: !unsafe |\n  12\n", "a: !unsafe |\n  ~\n",
    "a: !unsafe \"\\n\"\n", "a: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162\n", "- &a {b: c}\n- !unsafe [*a, d]\n", "a: {b: &x y}\nc: !unsafe [*x]\n", "- !unsafe [&a b]\n- *a\n", "a: 1\na: 2\n", "a: 1\nb: 2\na: 3\n",
    "1: a\ntrue: b\n1.0: c\n", "0: a\nfalse: b\n-0.0: c\n", "~: a\nnull: b\n'': c\n", "2001-01-01: a\n2001-01-01: b\n", "12: a\n'12': b\n", ".nan: a\n", "1e3: a\n", "!!binary YQ==: a\n", "!vault a: b\n",
    "<<: {a: b}\n", "<<: {a: 1}\na: 2\n", "a: 2\n<<: {a: 1}\n", "a: &a {b: 1}\nc:\n  <<: *a\n  b: 2\n  d: 3\n", "<<: [{a: 1, b: 1}, {a: 2, c: 2}]\n", "<<: {a: 1}\n<<: {a: 2, b: 3}\n", "<<: a\n", "<<: [a]\n", "<<: []\n",
    "<<: [[{a: b}]]\n", "<<: ~\n", "'<<': {a: b}\n", "!!merge x: {a: b}\n", "<<: {<<: {a: b}, c: d}\n", "a: &a\n  <<: *a\n", "a: &a {b: c}\nd: &d {<<: *a, e: f}\ng: {<<: [*d, *a]}\n", "!!set {<<: {a: b}, c}\n", "<<: !!set {a}\n",
    "<<: &a {b: c}\nd: *a\n", "=: a\n", "= : a\n", "a: {=: b}\n", "- =\n", "- <<\n", "[=]\n", "{=}\n", "{\"a\": \"b\"}", "{\"a\": 1e3, \"b\": [\"\\/\", NaN, -Infinity]}", "{\"a\": 1, \"a\": 2}", "[1,\n\t2]", "\"a\"", "12", "NaN", "-Infinity",
    "1e3", "null", "true", "{\"a\": \"\\ud83d\\ude00\"}", "{\"a\": \"\\ud800\"}", "{\"__ansible_unsafe\": \"a\"}", "{\"a\": {\"__ansible_unsafe\": \"b\", \"c\": 1}}", "{\"__ansible_unsafe\": 1}", "{\"a\": {\"__ansible_vault\": \"b\"}}",
    "{\"__ansible_vault\": \"b\", \"__ansible_unsafe\": \"c\"}", "{\"a\": 1,}", "{'a': 1}", "{\"a\":1}", "{\"a\": tRue}", "[" * 60 + "]" * 60, "{a: " * 50 + "b" + "}" * 50, "a: " + "x" * 2000 + "\n", "x" * 1100 + ": a\n", "é" * 600 + ": a\n",
    "? " + "x" * 1100 + "\n: a\n", "'" + "x" * 1100 + "': a\n", "{" + "x" * 1100 + ": a}\n", "[" + "a, " * 400 + "]: b\n", "[\n" + "a,\n" * 40 + "]\n", "a: 'b'\n'c': d\n", "'a'\n: b\n", "a\n: b\n", "{a\n: b}\n", "{? a : b}\n", "{? a}\n", "[? a : b]\n",
    "{a: b, : c}\n", "[a, : b]\n", "{: }\n", "{a:, b: c}\n", "{a: , b}\n", "{'a' : b}\n", "{\"a\":b, 'c':d}\n", "['a':b]\n", "[a]b\n", "{a}b\n", "[a] b\n", "[a]: b\n- c\n", "a: [b] c\n", "a: -\n", "a: - b\n", "a: ? b\n", "- ?\n", "a: !\n", "a: &\n", "a: *\n",
    "a: >x\n", "a: %b\n", "a: @b\n", "a: `b\n", "%a\n", " %a: b\n", "a: b\n%c: d\n", "a: b\n%TAG ! x\n", "a: !<x\n", "a: !<> b\n", "a: !%41 b\n", "a: !%4 b\n", "a: !é b\n", "a: !a{b} c\n", "a: ![b] c\n", "a: !,b c\n", "[!a, b]\n", "a: !!\n", "a: !!,\n",
    "x: 0b" + "1" * 300 + "\n", "x: 0x" + "f" * 3000 + "\n", "x: " + "9" * 4300 + "\n", "x: " + "9" * 4301 + "\n", "x: 1" + ":59" * 30 + "\n", "x: 1" + ":59" * 30 + ".5\n", "x: 1" + ":0" * 400 + ".5\n",
]

def formed():
    """Puts each scalar into each place."""
    forms = ("%s", "- %s\n", "a: %s\n", "%s: a\n", "[%s]", "{a: %s}\n", "{%s: a}\n", "? %s\n: b\n", "- !unsafe %s\n", "a:\n  b: %s # c\n  d: 1\n", "'%s'\n", "\"%s\"\n")
    scalars = [unescaped(text) for text in SCALARS.split()] + SPACED
    return [form.replace("%s", text) for text in scalars for form in forms]


def unescaped(text):
    """Replaces the escape sequences with which `SCALARS` writes characters."""
    names = {"\\ufeff": "\ufeff", "\\x85": "\x85", "\\u2028": "\u2028", "\\x7f": "\x7f", "\\x01": "\x01", "\\ud7ff": "\ud7ff", "\\ue000": "\ue000"}
    names |= {"\\ufffe": "\ufffe", "\\U00010000": "\U00010000", "\\xa0": "\xa0"}
    for name, character in names.items():
        text = character if text == name else text.replace(name + "a", character + "a")
    return text


TEXTS = BLOCKS + formed()

ARGUMENTS = [
    "", " ", "a", "a=1", "a=1 b=2", "a= b", "a =b", "=a", "==", "a==b", "a='b c' d", "a=\"b c\"", "a='b", "a=\"b'c\" d='e'", "a={{ b }}", "a={{ b }} c={{ d | e('f g') }}", "a={{ b", "a=}} b", "{{ a }}={{ b }}", "{% if a %}b=1{% endif %}",
    "a={# b c #} d", "a=1\nb=2", "a=1 \\\n b=2", "a=1\\\nb=2", "a=1  b=2", "  a=1", "a=1  ", "a=1\n\n", "\n", "\\", "\\ a", "a\\=b", "a\\=b c=d", "a\\=b=c", "a=b\\nc", "a=b\\\\nc", "a=\\x41\\u00e9\\U0001F600", "a=\\x4", "a=\\q", "a=\\\"b c\\\"", "a=\"b\\\"c\"",
    "a=\"b\\\"", "a='b' 'c'", "a=''", "a='", "a=\"\"", "a=1 a=2", "echo a=b chdir=/x creates='y z' warn=no", "echo \"a b\"  c | d > e", "echo 'a\n  b'", "cmd='x y' _raw_params=z w", "a=\tb", "a=b\tc=d", "a=\xa0b\xa0", "é=ü", "a={{ 'b' ~ \"c d\" }}e f=g",
    "a={{ {'b': 'c'} }}", "a={{ b }}{{ c }} d", "a={{b}}'c d' e", "'a=b c'=d", "a='b'c d", "a=b'c d'e f", "{{ a", "}} b", "{{ a }} {{ b", "\"", "'\"' a", "a=\\ud800", "a=\\N{DASH}", "a=\\N{LATIN SMALL LETTER A}",
]
