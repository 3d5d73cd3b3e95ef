"""Scenarios of `template`, whose variables are an option here and the task's there.

Left out on purpose: a template that is one expression and no more. ansible-core 2.19 takes a list or dict of such a one
for native, and drops the newline at the end. And `newline_sequence` "\\r", which it does not apply.
"""

import os

PLAY = True
PROMISED = ["checksum"]

VARIABLES = {
    "t": True, "n": None, "i": 3, "f": 1.0, "s": "text", "l": [1, "a", None, False, 1.5], "d": {"b": 1, "a": ["x", "y"]},
    "people": [{"name": "ann", "age": 3}, {"name": "bob", "age": 5}], "lines": "one\ntwo\n", "empty": [], "big": 2**70,
}


def case(template, existing=None, **arguments):
    files = {"t.j2": template, **({} if existing is None else {"f": existing})}
    return {"files": files, "path": "dest", "arguments": {"src": "t.j2", "variables": VARIABLES, **arguments}}


LOOP = "a\n{% for x in l %}\n - {{ x }}\n{% endfor %}\nb\n"

SCENARIOS = [
    case("hello {{ s }}\n"),
    case("hello {{ s }}\n", "hello text\n"),
    case("hello {{ s }}\n", "old\n"),
    case("hello {{ s }}\n", "old\n", force=False),
    case("hello {{ s }}\n", "old\n", backup=True),
    case("hello {{ s }}"),
    case("hello {{ s }}\n\n\n"),
    case(""),
    case("{{ t }} {{ n }} {{ i }} {{ f }} {{ l }} {{ d }}|\n"),
    case("{{ big }} {{ -i }} {{ 1e3 }} {{ 7 / 2 }} {{ 7 // 2 }} {{ 2 ** 3 }} {{ 7 % 4 }}\n"),
    case(LOOP),
    case(LOOP, trim_blocks=False),
    case("  {% if t %}\n  yes\n  {% endif %}\n"),
    case("  {% if t %}\n  yes\n  {% endif %}\n", lstrip_blocks=True),
    case("  {% if t %}\n  yes\n  {% endif %}\n", lstrip_blocks=True, trim_blocks=False),
    case("a\n{%- if t -%}\n b \n{%- endif -%}\n c\n"),
    case("{%+ if t %}\nx\n{% endif +%}\ny\n"),
    case("{# comment #}\nx{# y #}z\n"),
    case("{% raw %}{{ x }}{% endraw %}\n"),
    case("a\nb {{ lines }}c\n", newline_sequence="\r\n"),
    case("a\n", newline_sequence="x"),
    case("a\r\nb {{ s }}\r\n"),
    case("[[ s ]] {{ s }} <% if t %>y<% endif %>\n", variable_start_string="[[", variable_end_string="]]",
         block_start_string="<%", block_end_string="%>"),
    case("(# c #){{ s }}\n", comment_start_string="(#", comment_end_string="#)"),
    case("#jinja2:variable_start_string:'[%', variable_end_string:'%]', trim_blocks: False\n{{ s }} [% s %]\n"),
    case("#jinja2: trim_blocks: False, lstrip_blocks: True\n  {% if t %}\nx\n  {% endif %}\n"),
    case("{{ nope }}\n"),
    case("{{ d.nope }}\n"),
    case("{{ nope | default('x') }} {{ d.nope | default('y') }} {{ nope is defined }}\n"),
    case("{% if nope %}x{% endif %}\n"),
    # Many expressions in one file: a play takes a second for each.
    case(
        "{{ l | to_json }} {{ d | to_json }}\n{{ d | to_nice_json }}\n{{ d | to_nice_json(indent=2) }}\n"
        "{{ '{\"a\": [1, null]}' | from_json }}.\n"
        "{{ l | join(',') }} {{ people | map(attribute='name') | join(' ') }}\n"
        "{{ s | upper }} {{ s | capitalize }} {{ s.upper() }} {{ s | length }} {{ s | replace('t', 'T') }}\n"
        "{{ people | selectattr('age', 'gt', 4) | map(attribute='name') | list }}.\n"
        "{{ [3, 1, 2] | sort }} {{ [3, 1, 2] | max }} {{ [1, 1, 2] | unique | list }} {{ [1, 2] | sum }}\n"
        "{{ 'yes' | bool }} {{ 'no' | bool }} {{ t | ternary('a', 'b') }}\n"
    ),
    case(
        "{{ d | combine({'c': 2}) }} {{ {'a': {'x': 1}} | combine({'a': {'y': 2}}, recursive=True) }}\n"
        "{{ d | dict2items }} {{ [{'key': 'k', 'value': 1}] | items2dict }}\n"
        "{{ '/a/b/c.txt' | basename }} {{ '/a/b/c.txt' | dirname }}\n"
        "{{ 'a b' | quote }} {{ 'ab' | quote }} {{ \"it's\" | quote }}\n"
        "{{ 'foo=1' | regex_replace('^(\\\\w+)=(.*)$', '\\\\2=\\\\1') }} {{ 'abc' | regex_search('b.') }}\n"
        "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}\n"
        "{% for k in d %}{{ loop.index }}{{ k }}{{ ',' if not loop.last }}{% endfor %}\n"
    ),
    case(
        "{% for x in empty %}x{% else %}none{% endfor %}\n"
        "{% set x = 5 %}{{ x + 1 }}\n{% set y %}block{% endset %}{{ y }}\n"
        "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }}\n"
        "{{ 'x' if i > 2 else 'y' }} {{ i in [1, 3] }} {{ not t }} {{ i == 3 and t }}\n"
        "{{ people[0].name }} {{ people[-1]['age'] }} {{ l[1:3] }} {{ s[::-1] }}\n"
        "{% if s is string and i is number and l is sequence and d is mapping %}ok{% endif %}\n"
        "{% with z = 1 %}{{ z }}{% endwith %}{% filter upper %}abc{% endfilter %}\n"
    ),
    case(
        "{{ 'é' }} {{ 'ü' | upper }} ß\n"
        "{{ s | indent(2) }}\n{{ lines | indent(2) }}|{{ lines | trim }}|\n"
        "{{ range(3) | list }} {{ 'a' ~ 1 ~ 'b' }} {{ 'a' * 3 }} {{ [1] + [2] }}\n"
        "{{ i | string }} {{ '3' | int + 1 }} {{ '1.5' | float }} {{ 2.567 | round(1) }} {{ -3 | abs }}\n"
        "{{ \"%s-%02d\" | format('a', 5) }}\n"
        "{% for a in [1,2,3] if a > 1 %}{{ a }}{% endfor %} {{ people | map(attribute='age') | sum }}\n"
        "{{ {'a': 1}.a }} {{ d['a'][0] }} {{ d.get('zz', 'q') }} {{ 'a,b'.split(',') }}\n"
    ),
    case(
        "<b>&amp;{{ '<&>' }}</b>\n"
    ),
    {**case("x {{ unclosed\n"), "own_words": True},
    {**case("{% if t %}x\n"), "own_words": True},
    case("{{ s | nofilter }}\n"),
    case("hello {{ s }}\n", "hello text\n", mode="0600"),
    case("hello {{ s }}\n", "old\n", mode="0600"),
    case("hello {{ s }}\n", "hello text\n", mode="0644"),
    case("hello {{ s }}\n", "old\n", mode="u+x,go="),
    case("hello {{ s }}\n", "hello text\n", mode="rw"),
    case("hello {{ s }}\n", "old\n", owner=str(os.getuid()), group=str(os.getgid())),
    case("hello {{ s }}\n", "hello text\n", owner="no-such-user"),
    case("hello {{ s }}\n", "hello text\n", group="no-such-group"),
    case("hello {{ s }}\n", mode="0600"),
    case("hello {{ s }}\n", "old\n", mode="0600", force=False),
]
