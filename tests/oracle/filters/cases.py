"""Expressions for every filter and test: inputs by their shape, crossed with arguments.

A case is an expression of the variable `v` and sometimes of `w`. Inputs are Python values; arguments are text of a template.
`EXTRA` has inputs that every filter gets with some of its arguments, so that wrong types are compared, too.
"""

TEXTS = ["", "abc", "Hello World", "a,b,,c", " pad ", "ÄÖü ß", "it's \"x\"", "line1\nline2\n", "x" * 90, "a-b_c.d/e", "123", "-4.5",
         "0x1f", "yes", "None", "null", "<b>bold</b> & more", "éà\t", "😀 ok", "%s %d", "/etc/hosts", "ab\r\ncd", "  ", "True", "1e3"]
NUMBERS = [0, 1, -1, 7, 42, 255, 1024, 10**6, 2**31, 2**63, -(2**70), 0.0, 0.5, 1.5, 2.5, -2.5, 3.14159, 1e16, 1e-7, 1234.5678, True, False]
LISTS = [[], [1], [3, 1, 2], ["b", "a", "C"], [1, "a", None, True], [[1, 2], [3, [4, [5]]]], [1.5, 1, True], ["a", "A", "b", "a"],
         [None, "None", "null", 0], [{"a": 1}, {"a": 2}, {"a": 1, "b": 3}], [0, "", None, [], {}], ["x"] * 3, [True, False, True],
         [[1, 2], [1, 2], [2]], ["10", "9", "1"], list(range(20))]
DICTS = [{}, {"a": 1}, {"b": 2, "a": 1, "C": 3}, {"k": {"n": [1, 2]}, "l": [1]}, {"x": None, "y": True, "z": 1.5}, {"1": "one", "2": "two"},
         {"key": "k1", "value": "v1"}, {"a": "x", "B": "y", "c": "X"}]
EXTRA = [None, True, False, 0, 5, -3, 2.5, "", "abc", "12", [], [1, 2], ["a", "b"], {}, {"a": 1}, [{"a": 1}], 2**70, "a b"]
PEOPLE = [
    [{"name": "bob", "city": "NY", "age": 30}, {"name": "Al", "city": "ca", "age": 25}, {"name": "cy", "city": "CA", "age": 30}],
    [{"name": "x", "tags": ["a", "b"]}, {"name": "y", "tags": []}],
    [{"n": {"m": 1}}, {"n": {"m": 0}}],
    [{"name": "x"}, {"other": 1}],
    [{"a": [1, 2]}, {"a": [0, 5]}],
    [["a", 1], ["b", 0]],
    [],
]
PATHS = ["", "/", "//", "a", "a/b", "/a/b/c.txt", "a//b/", "/a/./b/../c", "../x", "..", ".", ".bashrc", "a.tar.gz", "/a.b/c", "a/.b.c", "...",
         "//net/x", "///x", "a/b/", "x.", "/etc/passwd", "é/ü.txt", "a b/c d"]
WIN = ["", "C:\\a\\b.txt", "c:/a/b", "\\\\host\\share\\dir\\f", "\\\\host\\share", "D:", "D:\\", "a\\b", "/x/y", "C:x", "\\\\?\\UNC\\h\\s\\f", "\\a", "\\\\\\a\\b"]
RESULTS = [{}, {"failed": True}, {"failed": False, "changed": True}, {"changed": 0}, {"skipped": True}, {"unreachable": 1}, {"failed": "x"},
           {"results": [{"changed": True}, {"changed": False}]}, {"results": [{"changed": False}]}, {"results": []}, {"results": [1]},
           {"results": [{}, 1]}, {"results": "x"}, {"timedout": {"period": 5}}, {"timedout": {}}, {"timedout": True}, {"timedout": {"x": 1}},
           {"finished": 0}, {"finished": 1, "started": 1}, {"started": 0}, {"started": True}]
URLS = ["", "http://user:pw@www.acme.com:9000/dir/index.html?query=term#fragment", "https://Example.ORG", "ftp://h/", "mailto:a@b.c", "urn:isbn:1",
        "/just/path", "http://[::1]:80/x", "http://[::1", "http://h:port/", "http://h:99999/", "file:///etc", "//host/p", "http://h?q", "x:y",
        "http://u@h", "http://a b/c", "HTTP://H/%20?a=1&b=2#f", "1http://x", "http:///p", "git+ssh://h/r.git", "http://h:/", "  http://x "]
SIZES = ["0", "1", "10K", "10 KB", "1.5M", "2 MB", "1Mb", "1b", "1B", "5 bytes", "5 byte", "1 kilobyte", "1kilobit", "1 YB", "1.", ".5G", "x", "", "10 XB",
         "1 k", "1024", "1,5", "1e3", " 5", "5 ", "5 gigabyte", "5 Gb", "5 GiB"]
VERSIONS = ["1.0", "1.0.0", "1.10", "1.9", "2.0a1", "1.2.3-rc.1", "1.2.3-rc.2", "1.2.3+b", "1", "0.0.1", "1.2b3", "1.0.dev1", "1!2.0", "v1.2", "1.2.3.4", "2.0.post1",
            "abc", "1.a", "1.0rc1", "20.04", "1..2", "1.2-3", "1.0+local.1", "01.2.3"]
REGEXES = ["'a'", "'[a-z]+'", "'(\\\\w+) (\\\\w+)'", "'(?P<x>l)(o)?'", "'^l'", "'\\\\d+'", "'x*'", "'('", "'(?i)h'", "''", "'\\\\s'", "'o.W'", "'[A-Z]'", "'é|Ö'", "'(a)|(b)'", "'.*'"]
DATES = ["2024-02-29 23:59:01", "2023-02-29 00:00:00", "2024-01-01", "", "x", "2024-1-1 1:2:3", "1/2/03", "Mon Jan  1 2024", "12:30 PM", "2024-060",
         "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.123456+0200", "29 Feb", "2024-W05-3", "31-Dec-1999", "2024-01-01 00:00:00 "]
FORMATS = ["", "'%Y-%m-%d'", "'%Y-%m-%d %H:%M:%S'", "'%d/%m/%y'", "'%a %b %d %Y'", "'%I:%M %p'", "'%Y-%j'", "'%Y-%m-%dT%H:%M:%S%z'", "'%Y-%m-%dT%H:%M:%S.%f%z'",
           "'%d %b'", "'%G-W%V-%u'", "'%d-%b-%Y'", "'%q'", "'%'", "'%%'"]


def args(*texts):
    """Argument lists, the empty one first."""
    return ["", *texts]


BASES = args("'x'")
ATTRIBUTES = args("attribute='name'", "attribute='age'", "attribute='city'", "attribute='n.m'", "attribute='a.0'", "attribute=0", "attribute='nope'")

# Filters: inputs, and arguments. An argument `!x` is an expression of its own, of `v`.
FILTERS = {
    "abs": (NUMBERS + TEXTS[:3], args("1")),
    "attr": (DICTS + TEXTS[:3], ["'a'", "'keys_'", "1", ""]),
    "b64decode": (["", "YWI=", "YW", "Y", "/w==", "Y W I =", "w6k=", "YWI=YWI=", "-_8=", "YQ==", "YR==", "====", "a===", "QUJD\nREVG", "é"], args("'utf-8'", "urlsafe=true", "encoding='latin-1'", "encoding='utf-16-le'", "encoding='nope'")),
    "b64encode": (TEXTS + NUMBERS, args("encoding='utf-16-le'", "urlsafe=true", "'latin-1'", "encoding='ascii'", "'utf-16'")),
    "basename": (PATHS, args()),
    "batch": (LISTS + TEXTS[:4], ["2", "3", "3, 'x'", "1", "0", "-1", "3, none", "'2'", "linecount=4, fill_with=0", "2.0"]),
    "bool": (TEXTS + NUMBERS + LISTS[:3] + ["YES", "On", "off", "y", "t", "TRUE", "1.0", "FALSE", "no"], args()),
    "capitalize": (TEXTS + NUMBERS, args()),
    "center": (TEXTS, args("20", "5", "0", "-4", "width=11", "'5'")),
    "checksum": (TEXTS + NUMBERS + LISTS[:4], args()),
    "combinations": (LISTS[:9] + TEXTS[:3], ["2", "1", "0", "3", "-1", "'2'", "r=2", ""]),
    "combine": (DICTS, args("{'a': 9}", "{'k': {'n': [3]}, 'z': 1}, recursive=true", "{'k': {'n': [1, 3]}, 'l': [1]}, recursive=true, list_merge='append'",
                            "{'l': [2]}, list_merge='append_rp'", "{'l': [2, 1]}, list_merge='prepend'", "{'l': [1, 2]}, list_merge='prepend_rp'", "{'l': []}, list_merge='keep'",
                            "{'a': 1}, {'a': 2}, [{'a': 3}]", "[]", "none", "5", "{}, list_merge='x'", "{'a': 1}, x=1", "{'b': 1, 'a': 1}", "'x'", "{}")),
    "comment": (TEXTS[:10], args("'c'", "'cblock'", "'xml'", "'erlang'", "'nope'", "'plain', prefix='#######\\n#', postfix='#\\n###'", "decoration='! '", "prefix_count=3",
                                 "postfix_count=2", "beginning='B'", "end='E'", "newline='\\r\\n'", "prefix=''", "prefix='\\n'", "decoration=''", "x=1", "prefix_count='2'", "postfix_count='2'")),
    "commonpath": ([["/a/b", "/a/c"], ["a/b", "a"], ["/a", "b"], [], ["a"], ["/"], ["/a/b/", "/a//b/c"], "abc", [1], ["", "a"], ["./a", "a"], ["/x/y/z", "/x/y/z"]], args()),
    "count": (TEXTS + LISTS + DICTS + NUMBERS[:4], args()),
    "default": (EXTRA, args("'x'", "'x', true", "default_value=1", "boolean=true", "'x', false", "'x', 1", "[], boolean=true", "none", "'x', 'y'")),
    "dict2items": (DICTS + LISTS[:3], args("'k', 'v'", "key_name='n'", "value_name='key'", "'k'", "x=1")),
    "dictsort": (DICTS + LISTS[:2], args("true", "false, 'value'", "by='value'", "reverse=true", "by='x'", "case_sensitive=true, by='value', reverse=true")),
    "difference": (LISTS, ["[1]", "['a', 3]", "[]", "[[1, 2]]", "'ab'", "5", "v", "{'a': 1}", "[none, 1.0]"]),
    "dirname": (PATHS, args()),
    "escape": (TEXTS + NUMBERS, args()),
    "expanduser": (PATHS + ["~", "~/x", "~nosuchuser/x", "a~", "~//b"], args()),
    "expandvars": (["$HOME/x", "${HOME}", "$NOSUCH", "a$", "$", "${", "${}", "$1", "x$HOME-y", "${HOME", "$é"] + PATHS[:5], args()),
    "extract": ([0, 1, -1, 5, "a", "k", "nope", True, None], ["[1, 2, 3]", "{'a': 1, 'k': {'n': [7]}}", "{'k': {'n': [7]}}, 'n'", "{'k': {'n': [7]}}, ['n', 0]", "'abc'", "[]", "[[5]], 0", "none", "{'a': 1}, morekeys=['b']"]),
    "filesizeformat": (NUMBERS + ["100", "x", "1e4", 999, 1000, 1025, 999999999], args("true", "false", "binary=true")),
    "first": (TEXTS[:6] + LISTS + DICTS, args()),
    "flatten": (LISTS + TEXTS[:2] + DICTS[:2], args("1", "0", "levels=2", "skip_nulls=false", "levels=1, skip_nulls=false", "'1'", "1.5", "none", "-1")),
    "float": (TEXTS + NUMBERS + LISTS[:2] + ["inf", "-nan", "1_0", "1e400", " 5 ", ".5", "5.", "1__0", "٣"], args("1", "default='x'", "none")),
    "forceescape": (TEXTS[:12], args()),
    "format": (["%s", "%s %s", "%d", "%5.2f|", "%-5s|", "%05d", "%x", "%r", "%%", "%", "%(a)s", "%q", "plain", "%c", "%+d", "%e", "%g", "%s %d %s", "%*d", "%.3s", "%#x", "%i", "%5%", "%a"],
               args("1", "'x'", "1, 2", "3.7", "a=1", "'é', 5", "none", "[1]", "255", "true", "1, a=2", "-5", "5, 3, 1", "{'a': 1}")),
    "from_json": (['{"a": 1}', "[1, 2.0, null]", "x", "", "1", '"s"', "{", '{"a": NaN}', '{"a": 1, "a": 2}', "[1,]", '"\\ud800"', "true", '{"__ansible_vault": "x"}', " [1] "], args()),
    "groupby": (PEOPLE, ["'city'", "'age'", "attribute='name'", "'n.m'", "'city', case_sensitive=true", "'nope', default='z'", "'nope'", "0", "'tags'", "'age', 0", "'city', default=5"]),
    "hash": (TEXTS + NUMBERS[:5], args("'md5'", "'sha256'", "'sha512'", "'sha1'", "'nope'", "hashtype='sha224'", "'sha384'", "'SHA256'", "5")),
    "human_readable": (NUMBERS + TEXTS[:2] + [1500, 10240, 10**12, 1025.5], args("true", "unit='M'", "false, 'k'", "unit='KB'", "isbits=true, unit='g'", "unit='b'", "unit=''")),
    "human_to_bytes": (SIZES + NUMBERS, args("'M'", "isbits=true", "default_unit='K'", "'b', true", "'x'", "'MB'", "''")),
    "indent": (TEXTS, args("2", "width=2, first=true", "blank=true", "'> '", "4, true, true", "0", "-2", "2, 1")),
    "int": (TEXTS + NUMBERS + LISTS[:2] + ["0b11", "0o17", "z", "1_000", " 7 ", "1__0", "ff", "1e400", "inf", "nan", "٣", "99999999999999999999999", "+5", "- 5"], args("7", "base=16", "default='x'", "0, 2", "1, 0", "0, 8", "base=99", "none", "base='x'")),
    "intersect": (LISTS, ["[1]", "['a', 3]", "[]", "[[1, 2]]", "'ab'", "5", "v", "[none, 1.0]"]),
    "items": (DICTS + LISTS[:2], args()),
    "items2dict": ([[{"key": "a", "value": 1}], [{"key": "a", "value": 1}, {"key": "a", "value": 2}], [], [{"k": 1, "v": 2}], [{"key": [1], "value": 1}], [1], ["ab"], {}, "x", [{"key": 1, "value": None}], [{}], [{"key": "x"}]], args("'k', 'v'", "key_name='value', value_name='key'", "'key'", "0, 1")),
    "join": (LISTS + TEXTS[:4] + DICTS[:3] + PEOPLE, args("','", "', '", "1", "none", "d='-'", "',', attribute='name'", "attribute='age'", "',', 'nope'", "''")),
    "last": (TEXTS[:6] + LISTS + DICTS, args()),
    "length": (TEXTS + LISTS + DICTS + NUMBERS[:4], args()),
    "list": (TEXTS[:8] + LISTS + DICTS, args()),
    "log": (NUMBERS + TEXTS[:2], args("2", "10", "1", "0", "-2", "'x'", "base=3", "0.5", "10.0")),
    "lower": (TEXTS + NUMBERS + LISTS[:3], args()),
    "mandatory": (EXTRA + TEXTS + NUMBERS, args("'msg'", "msg='x'")),
    "map": (LISTS + PEOPLE + TEXTS[:3], ["'upper'", "'string'", "attribute='name'", "attribute='age', default=0", "'int'", "'default', 'x'", "'nope'", "", "'regex_replace', 'a', 'b'", "'extract', [5, 6, 7]", "attribute='tags.0'", "'round', 1", "attribute=0", "attribute='n.m', x=1", "'ansible.builtin.lower'", "5", "'combine', {'z': 1}", "'join', '-'"]),
    "max": (LISTS + TEXTS[:4] + PEOPLE, args("case_sensitive=true", "attribute='age'", "true, 'name'", "attribute='nope'")),
    "md5": (TEXTS + NUMBERS + LISTS[:4], args()),
    "min": (LISTS + TEXTS[:4] + PEOPLE, args("case_sensitive=true", "attribute='age'", "true, 'name'")),
    "normpath": (PATHS, args()),
    "path_join": ([["a", "b"], ["/a", "/b"], ["a/", "b"], [], "x", ["a", 1], ["a", ""], ["", "b"], 5, ["/", "etc", "hosts"], ["a", "b/", "", "c"]], args()),
    "permutations": (LISTS[:9] + TEXTS[:2], args("2", "0", "1", "-1", "r=3", "'2'", "none")),
    "pow": (NUMBERS, ["2", "0", "-1", "0.5", "'x'", "3", "1000", "y=2", "true"]),
    "pprint": (EXTRA + TEXTS + LISTS + DICTS + [list(range(60)), {"k%d" % n: "v" * n for n in range(12)}, ["word " * 30], [{"a": list(range(30)), "b": "x" * 90}]], args()),
    "product": (LISTS[:6], args("[1, 2]", "'ab', [0]", "repeat=2", "[], [1]", "5", "repeat=0", "repeat=-1", "[1], x=1")),
    "quote": (TEXTS + NUMBERS + LISTS[:2], args()),
    "random": ([10, 100, 1, 2**40, [1, 2, 3], ["a", "b", "c"], "abcdef", [], 0, -5, {"a": 1}, 2.5, True, list(range(50))], ["seed='x'", "seed=42", "seed='host1'", "seed=1.5", "seed=true", "seed=-7", "seed=2 ** 70", "start=5, seed='a'", "2, 3, seed='b'", "1, step=10, seed='c'", "seed=[]", "seed=0", "seed=''", "0, 2, seed='é'"]),
    "regex_escape": (TEXTS + NUMBERS[:3] + ["^a.*b(.*)$", "[a]{2}\\d-~&#", "a b"], args("'posix_basic'", "'posix_extended'", "re_type='x'", "re_type='python'")),
    "regex_findall": (TEXTS, REGEXES + ["'l', multiline=true", "'^l', multiline=true", "'L', ignorecase=true", "'(.)(.)'"]),
    "regex_replace": (TEXTS, [r + ", 'X'" for r in REGEXES] + ["'(\\\\w)', '<\\\\1>'", "'(?P<n>l)', '[\\\\g<n>]'", "'l', 'L', count=1", "'L', 'y', ignorecase=true", "'^', '# ', multiline=true", "'l', ''", "'l', '\\\\9'", "'l'", "", "'l', 'x', mandatory_count=2", "'x', '\\\\n', count=2", "'a', 5", "replacement='z', pattern='b'", "'(x)?a', '\\\\1-'"]),
    "regex_search": (TEXTS, REGEXES + ["'(\\\\w)(\\\\w)', '\\\\1', '\\\\2'", "'(?P<n>\\\\w)', '\\\\g<n>'", "'(a)', '\\\\5'", "'a', 'x'", "'LINE', ignorecase=true", "'^line2', multiline=true", "'(a)', '\\\\g<1>'", "'(?P<n>a)', '\\\\g<m>'", "'(a)?b', '\\\\1'", "regex='a'", "'a', x=1"]),
    "reject": (LISTS, args("'none'", "'equalto', 1", "'string'", "'in', [1, 'a']", "'nope'", "'gt', 1", "'match', 'a'")),
    "rejectattr": (PEOPLE, ["'name'", "'age', 'gt', 26", "'city', 'equalto', 'NY'", "'tags', 'defined'", "'nope'", "", "'name', 'match', 'b'", "'n.m'", "'name', 'nope'"]),
    "rekey_on_member": (PEOPLE + [{"x": {"name": "a"}, "y": {"name": "b"}}, [{"name": "a"}, {"name": "a"}], "x", 5, [1]], ["'name'", "'nope'", "'name', duplicates='overwrite'", "'name', 'x'", "'city', 'overwrite'", "key='age'"]),
    "relpath": ([p for p in PATHS if p != ""], args("'/a'", "'a'", "start='/etc'", "'.'", "'/a/b/../c'", "'../z'", "''")),
    "replace": (TEXTS + NUMBERS, ["'a', 'b'", "'l', ''", "'', '-'", "'l', 'L', 1", "1, 2", "'a'", "'\\n', ' '", "old='x', new='y', count=3", "'l', 'x', -1", "'l', 'x', 0"]),
    "reverse": (TEXTS[:8] + LISTS + DICTS, args()),
    "root": (NUMBERS + TEXTS[:2], args("3", "2.0", "0", "'2'", "-1", "base=4", "0.5", "'x'")),
    "round": (NUMBERS + TEXTS[:2] + [2.675, 1250, 1350.0, -0.5, 1.005, 25, 15], args("1", "2", "0, 'ceil'", "1, 'floor'", "-1", "-2", "method='ceil'", "method='x'", "none", "3, 'common'", "precision=-1, method='floor'", "'1'")),
    "safe": (TEXTS[:12], args()),
    "select": (LISTS, args("'none'", "'equalto', 1", "'string'", "'in', [1, 'a']", "'nope'", "'odd'", "'ansible.builtin.match', 'a'", "'sameas', true", "'ge', 'b'", "'contains', 'a'", "'mapping'", "'truthy'", "'divisibleby', 2")),
    "selectattr": (PEOPLE, ["'name'", "'age', 'gt', 26", "'city', 'equalto', 'NY'", "'tags', 'defined'", "'nope'", "", "'name', 'match', 'b'", "'n.m', 'eq', 1", "'name', 'in', ['x', 'bob']", "'nope', 'undefined'", "'age', 'lt', 'x'", "0, 'eq', 'a'", "'tags', 'contains', 'a'", "'a.0'"]),
    "sha1": (TEXTS + NUMBERS, args()),
    "shuffle": (LISTS + TEXTS[:4] + [5, {"a": 1, "b": 2}], ["seed='x'", "seed=42", "'host'", "seed=1.25", "seed=[1]", "seed=true"]),
    "slice": (LISTS + TEXTS[:3], ["2", "3", "3, 'x'", "1", "0", "-1", "'2'", "slices=4, fill_with=none", "50"]),
    "sort": (LISTS + TEXTS[:4] + DICTS + PEOPLE, args("true", "case_sensitive=true", "attribute='age'", "attribute='age,name'", "reverse=true, attribute='name'", "attribute='nope'", "false, true, 'city'", "attribute=0")),
    "split": (TEXTS, args("','", "' '", "none, 1", "'l', 1", "''", "sep='a', maxsplit=1", "'-'", "5", "none", "',', 0", "'/', -1")),
    "splitext": (PATHS, args()),
    "strftime": (["%Y-%m-%d %H:%M:%S", "%s", "%A %a %B %b %d", "%j %U %W %V %G", "%I:%M %p", "%e %k %l", "%D %T %R %F", "%c|%x|%X", "%-d %_d %^a", "%Z %z", "%%", "%q", "", "%y %C %u %w", "%5d|%05H", "%h%n%t.", "%P", "%"], ["0", "1441357287", "1441357287, utc=true", "1.9", "'3600'", "-1", "'x'", "951782400", "none, 1, 2", "1e10", "second=86399, utc=true"]),
    "string": (TEXTS + NUMBERS + LISTS + DICTS, args()),
    "striptags": (TEXTS + ["<a>b</a> c", "a<!-- x -->b", "a < b", "&amp;&lt;", "<p>x\n\n y</p>", "&#65;&#x42;", "<<a>>", "&nosuch; &copy;"], args()),
    "subelements": ([[{"n": "a", "g": ["x", "y"]}, {"n": "b", "g": []}], [{"n": "a"}], {"u": {"g": [1, 2]}}, [{"a": {"b": [1]}}], [{"g": 5}], "x", [1], []], ["'g'", "'a.b'", "['a', 'b']", "'g', true", "'g', skip_missing=true", "5", "'n'", "''", "'a.b.c', skip_missing=true"]),
    "sum": (LISTS + PEOPLE + [[0.1] * 10, [1.5, 2]], args("attribute='age'", "start=10", "'age', 5", "start=[]", "start='x'", "start=1.5", "attribute='nope'")),
    "symmetric_difference": (LISTS, ["[1]", "['a', 3]", "[]", "[[1, 2]]", "5", "v", "[none, 1.0]"]),
    "ternary": (EXTRA, ["'y', 'n'", "'y', 'n', 'z'", "1", "true_val=1, false_val=2", "'y', 'n', none", "1, 2, 3, 4", "'y', nope"]),
    "title": (TEXTS + ["ab-cd (ef) [gh] {ij} <kl", "they're", "x1y"], args()),
    "to_datetime": (DATES, FORMATS),
    "to_json": (EXTRA + LISTS + DICTS + TEXTS + NUMBERS, args("indent=2", "sort_keys=true", "ensure_ascii=false", "separators=[',', ':']", "indent=0", "indent='\\t'", "skipkeys=true", "x=1", "vault_to_text=false", "indent=2, sort_keys=true")),
    "to_nice_json": (EXTRA + LISTS + DICTS + TEXTS, args("2", "indent=1", "sort_keys=false", "ensure_ascii=false", "indent=8", "separators=5", "none")),
    "to_nice_yaml": (EXTRA + LISTS + DICTS + TEXTS + NUMBERS, args("2", "indent=2", "width=20", "sort_keys=false", "default_flow_style=true", "explicit_start=true", "indent=6, width=1000", "default_flow_style=none", "explicit_end=true")),
    "to_uuid": (TEXTS + NUMBERS, args("'6ba7b810-9dad-11d1-80b4-00c04fd430c8'", "namespace='x'", "'{6ba7b810-9dad-11d1-80b4-00c04fd430c8}'", "5", "'urn:uuid:6ba7b8109dad11d180b400c04fd430c8'")),
    "to_yaml": (EXTRA + LISTS + DICTS + TEXTS + NUMBERS, args("indent=4", "width=20", "sort_keys=false", "default_flow_style=false", "default_flow_style=true", "explicit_start=true", "default_style='\"'", "default_style='|'", "width=-1")),
    "tojson": (EXTRA + LISTS + DICTS + TEXTS + NUMBERS, args("2", "indent=1", "none")),
    "trim": (TEXTS + NUMBERS, args("'a'", "'xb '", "none", "chars='abc'", "''")),
    "truncate": (TEXTS + ["word " * 70], args("10", "10, true", "10, false, '..'", "5, true, '', 0", "length=3", "2", "10, leeway=0", "10, true, end='>'", "4, false, '...', -1", "80, true, '…'")),
    "type_debug": (EXTRA + TEXTS + NUMBERS, args()),
    "union": (LISTS, ["[1]", "['a', 3]", "[]", "[[1, 2]]", "'ab'", "5", "v", "[none, 1.0]"]),
    "unique": (LISTS + TEXTS[:6] + PEOPLE, args("true", "case_sensitive=true", "attribute='age'", "false", "case_sensitive=false", "attribute='city'", "true, 'city'", "attribute='nope'")),
    "upper": (TEXTS + NUMBERS + LISTS[:3], args()),
    "urldecode": (["a%20b", "a+b", "%C3%A9", "%ff", "%", "%4", "%zz", "x=1&y=2", "%2B+", "", "é%20"] + TEXTS, args("'utf-8'")),
    "urlencode": (TEXTS + NUMBERS + DICTS + [[["a", 1], ["b", "c d"]], [["a"]], [1], "a/b?c=d&e", {"é": "ü x"}], args()),
    "urlize": (TEXTS + ["see http://x.org.", "www.example.com/a?b=c", "(https://a.b/c)", "me@x.org", "mailto:a@b.co", "x.com y.dev", "ftp://h", "<http://x>", "http://x.org, and", "http://h:80/p", "http://a_b/ (www.x.org)", "tel:12", "a@b", "http://[::1]/"], args("10", "nofollow=true", "target='_blank'", "rel='me'", "extra_schemes=['ftp://', 'tel:']", "extra_schemes=['x']", "5, true, '_top'")),
    "urlsplit": (URLS, args("'hostname'", "'port'", "'netloc'", "query='scheme'", "'nope'", "'username'", "'password'", "'path'", "'query'", "'fragment'", "''")),
    "win_basename": (WIN, args()),
    "win_dirname": (WIN, args()),
    "win_splitdrive": (WIN, args()),
    "wordcount": (TEXTS + NUMBERS, args()),
    "wordwrap": (TEXTS + ["the quick brown fox jumps over the lazy dog", "a-very-long-hyphenated-word here", "abc " * 30, "foo--bar baz"], args("10", "5", "20, false", "10, wrapstring='|'", "8, true, '\\n', false", "width=0", "10, break_on_hyphens=false", "1")),
    "xmlattr": (DICTS + [{"class": "a", "id": "b<", "x": None}, {"a b": 1}, {"a=": 1}], args("false", "autospace=true")),
    "zip": (LISTS[:8] + TEXTS[:3], args("[1, 2]", "'ab', [0]", "5", "[], [1]", "[1, 2, 3], strict=true", "x=1")),
    "zip_longest": (LISTS[:8] + TEXTS[:3], args("[1, 2]", "'ab', [0]", "5", "[1], fillvalue='x'", "[], [1], fillvalue=0", "x=1")),
}
ALIASES = {"d": "default", "e": "escape"}

CONTAINERS = LISTS + DICTS + TEXTS[:6]
COMPARED = ["1", "'a'", "none", "[1]", "1.0", "true", "{'a': 1}", "2.5", "'b'", "[3, 1, 2]", "''"]
SUBJECTS = EXTRA + TEXTS[:6] + LISTS[:8] + DICTS[:4] + NUMBERS
SETS = ["[1]", "['a', 'b', 'C', 'A']", "[]", "v", "'abc'", "5", "[[1]]", "[1, 2, 3, 1.5]"]
PATTERNS = REGEXES + ["'L', ignorecase=true", "'^l', multiline=true", "'l', true", "5", "'hello', ignorecase=true"]

# Tests, likewise.
TESTS = {
    "abs": (PATHS, args()), "all": (CONTAINERS, args()), "any": (CONTAINERS, args()), "boolean": (SUBJECTS, args()),
    "changed": (RESULTS, args()), "contains": (CONTAINERS, COMPARED), "defined": (SUBJECTS, args()),
    "directory": (PATHS + ["/etc", "/tmp", "/nope"], args()), "divisibleby": (NUMBERS + TEXTS[:2], ["2", "3", "0", "2.5", "'x'", "-4", "num=7"]),
    "eq": (SUBJECTS, COMPARED), "equalto": (SUBJECTS, COMPARED), "escaped": (SUBJECTS, args()), "even": (NUMBERS + TEXTS[:3], args()),
    "exists": (PATHS + ["/etc", "/nope"], args()), "failed": (RESULTS, args()), "false": (SUBJECTS, args()),
    "falsy": (SUBJECTS + ["no", "N", " off "], args("true", "convert_bool=true", "false")), "file": (PATHS + ["/etc", "/etc/hosts"], args()),
    "filter": (["upper", "nope", "ansible.builtin.combine", "d", "e", "", "map", "length", "community.general.x", "vaulty"] + TEXTS, args()), "finished": (RESULTS, args()),
    "float": (SUBJECTS, args()), "ge": (SUBJECTS, COMPARED), "gt": (SUBJECTS, COMPARED), "greaterthan": (SUBJECTS, COMPARED),
    "in": (SUBJECTS, ["[1, 'a']", "'abc'", "{'a': 1}", "[]", "5", "none", "[[1, 2], {}]", "['', 0]"]), "integer": (SUBJECTS, args()),
    "iterable": (SUBJECTS, args()), "isnan": (SUBJECTS, args()), "issubset": (LISTS, SETS), "issuperset": (LISTS, SETS),
    "le": (SUBJECTS, COMPARED), "lessthan": (SUBJECTS, COMPARED), "link": (PATHS + ["/nope", "/proc/self"], args()),
    "link_exists": (PATHS + ["/nope", "/proc/self"], args()), "lower": (TEXTS + NUMBERS + ["ABC", "aBc", "ß"], args()), "lt": (SUBJECTS, COMPARED),
    "mapping": (SUBJECTS, args()), "match": (TEXTS + NUMBERS[:3], PATTERNS), "mount": (PATHS + ["/proc", "/etc"], args()), "nan": (SUBJECTS, args()),
    "ne": (SUBJECTS, COMPARED), "none": (SUBJECTS, args()), "number": (SUBJECTS, args()), "odd": (NUMBERS + TEXTS[:3], args()),
    "reachable": (RESULTS, args()), "regex": (TEXTS, PATTERNS + ["'a', match_type='match'", "'.*', match_type='fullmatch'", "'a', match_type='x'"]),
    "same_file": (["/", "/etc", "/nope", "/proc/self"], ["'/'", "'/etc/../etc'", "'/nope'", "5"]),
    "search": (TEXTS + NUMBERS[:3], PATTERNS), "sequence": (SUBJECTS, args()), "skipped": (RESULTS, args()), "started": (RESULTS, args()),
    "string": (SUBJECTS, args()), "subset": (LISTS, SETS), "succeeded": (RESULTS, args()), "success": (RESULTS, args()), "superset": (LISTS, SETS),
    "test": (["odd", "nope", "ansible.builtin.version", "is_dir", "==", "search"] + TEXTS, args()), "timedout": (RESULTS, args()),
    "true": (SUBJECTS, args()), "truthy": (SUBJECTS + ["yes", "f"], args("true", "convert_bool=true", "convert_bool=false")),
    "undefined": (SUBJECTS, args()), "unreachable": (RESULTS, args()), "upper": (TEXTS + NUMBERS + ["ABC", "A1"], args()),
    "uri": (URLS, args("['http', 'ftp']", "schemes=['urn']", "'http'")), "url": (URLS, args("['http']", "schemes=['file']")), "urn": (URLS, args()),
    "version": (VERSIONS, [f"'{v}', '{o}'" for v in VERSIONS for o in ("<", "==")] + ["'1.0', 'x'", "''", "'1.0', '>=', true", "'1.0', 'ge', strict=true", "1.2",
                "'1.0', 'lt', version_type='semver'", "'1.2.3-rc.1', '>', version_type='semantic'", "'1.0', '>', version_type='pep440'", "'1.0rc1', 'eq', version_type='pep440'",
                "'1.0', 'lt', version_type='nope'", "'1', '<', true, 'loose'", "'1.2', '<=', version_type='strict'", "'1.0', 'ne', version_type='loose'"]),
}

# Methods, likewise. Those that change a list or dict are in `SET`, since a local has to hold it.
METHODS = {
    **{name: (TEXTS + ["ABC", "aB", "123", "²", "a1", "_x", "A B", "ǆ", "ΑΣ"], args()) for name in (
        "upper", "lower", "title", "capitalize", "swapcase", "casefold", "isupper", "islower", "istitle", "isdigit", "isdecimal", "isnumeric", "isalpha", "isalnum",
        "isspace", "isascii", "isidentifier", "isprintable")},
    "split": (TEXTS, args("','", "none, 1", "' '", "sep='a'", "''", "'l', 1", "5", "maxsplit=1")),
    "rsplit": (TEXTS, args("','", "none, 1", "'l', 1", "maxsplit=0")),
    "strip": (TEXTS, args("'a'", "'x '", "none", "5")), "lstrip": (TEXTS, args("'aH'", "'x'")), "rstrip": (TEXTS, args("'d'", "'x'")),
    "partition": (TEXTS, ["','", "'l'", "''", "' '", ""]), "rpartition": (TEXTS, ["','", "'l'", "''"]),
    "splitlines": (TEXTS, args("true", "keepends=true")), "join": (TEXTS[:8], ["['a', 'b']", "[]", "[1]", "'xyz'", "5", "{'a': 1, 'b': 2}"]),
    "replace": (TEXTS, ["'a', 'b'", "'l', '', 1", "'', '-'", "'a'", "1, 2"]),
    "startswith": (TEXTS, ["'a'", "'H'", "('a', 'H')", "'l', 2", "''", "5", "['a']", "'b', 1, 2", "'', 100"]), "endswith": (TEXTS, ["'c'", "'d'", "('c', 'd')", "'l', 0, 4", "''"]),
    "find": (TEXTS, ["'l'", "'l', 4", "''", "'zz'", "5", "'o', -4", "'', 100", "'b', 0, 2"]), "rfind": (TEXTS, ["'l'", "'l', 0, 4", "''"]),
    "index": (TEXTS + LISTS, ["'l'", "'a'", "1", "'zz'", "'l', 4", "1, 1", "none", "1, -2"]), "rindex": (TEXTS, ["'l'", "''"]), "count": (TEXTS + LISTS, ["'l'", "''", "1", "'a'", "'l', 3", "true"]),
    "removeprefix": (TEXTS, ["'a'", "'He'", "''"]), "removesuffix": (TEXTS, ["'c'", "'ld'", "''"]),
    "ljust": (TEXTS, ["5", "20, '*'", "20, '**'", "-1", "'5'"]), "rjust": (TEXTS, ["5", "20, '*'"]), "center": (TEXTS, ["5", "20", "21, '*'"]), "zfill": (TEXTS + ["+5", "-5"], ["5", "0", "10"]), "expandtabs": (TEXTS, args("4", "0")),
    "format": (["{}", "{} {}", "{0} {1} {0}", "{a}", "{:>5}|", "{:05d}", "{:.2f}", "{!r}", "{0[k]}", "{{}}", "{", "{:x}", "{:,}", "{:^9}", "{:+}", "{:e}", "{:%}", "{0.x}", "{:s}", "{:<5}|", "{:*^7}", "{:g}", "{:b}", "{!z}", "{:{}}", "{a[0]}", "{:_}", "{:10.3f}|", "{:5}|"],
               args("1", "'x'", "1, 2", "3.75", "a=1", "'é', 5", "1234567", "{'k': 'v'}", "255", "true", "none", "a=[7]", "[1]", "-3.14159, 8")),
    "keys": (DICTS, args("1")), "values": (DICTS, args()), "items": (DICTS + [{"items": 1}], args()), "get": (DICTS, ["'a'", "'z'", "'z', 5", "['x']", "1", "'a', default=3", ""]),
    "copy": (DICTS + LISTS, args()), "bit_length": (NUMBERS, args()), "is_integer": ([1.0, 1.5, -2.0, 1e300], args()), "__and__": ([5, 0, -3, True], ["3", "1.5", "-1"]), "__lshift__": ([5, -3], ["3", "0", "-1"]), "__rshift__": ([500, -3], ["3", "0", "-1"]),
}

# What a local shows after a method has changed it.
SET = {
    "list": (LISTS, ["append(5)", "append([1])", "extend([1, 2])", "extend('ab')", "extend(5)", "insert(0, 'x')", "insert(-1, 'x')", "insert(99, 1)", "pop()", "pop(0)", "pop(9)", "remove(1)", "remove('zz')", "reverse()", "sort()",
                     "sort(reverse=true)", "clear()", "append()", "append(1, 2)", "copy().append(1)"]),
    "dict": (DICTS, ["update({'z': 1})", "update(z=1, a=2)", "update([['q', 1]])", "update(5)", "pop('a')", "pop('zz')", "pop('zz', 1)", "setdefault('a', 9)", "setdefault('n', 9)", "setdefault('n')", "clear()", "popitem()", "update()", "copy().update({'z': 1})"]),
}

# Expressions that fit no table.
MORE = [
    "nope | default('x')", "nope | upper | default('x')", "v.nope | default('x')", "v.nope.deep | default('x')", "nope is defined", "nope is undefined",
    "nope | mandatory", "nope | mandatory('gone')", "nope | ternary(1, 2)", "true | ternary(1, nope)", "[] | first | default('e')", "[] | max | default(3)", "[] | last | default(1)",
    "[1, 2] | map('string') | join", "v | type_debug", "(1, 2) | type_debug", "'<' | escape | type_debug", "'<' | escape | escape", "(1, 2) | to_json", "(1, 2) | to_yaml",
    "[(1, 2)] | string", "(1,) | string", "[1, 2] | zip(['a', 'b']) | list | string", "{'a': 1}.items() | list", "v | dict2items | items2dict", "[[1, 2], [3, 4]] | map('first')",
    "'2024-01-01' | to_datetime('%Y-%m-%d')", "('2024-01-01' | to_datetime('%Y-%m-%d')) | string", "[{'a': 1}] | map(attribute='b') | map('default', 'z')",
    "[{'a': 1}] | map(attribute='b') | list", "[3, 1] | sort | first", "['b', 'a'] | sort(reverse=true)", "[1, 2, 3] | sum / 2", "['x'] | product([1, 2]) | map('join')",
    "{'b': 1, 'a': [1, {'c': 2}]} | to_nice_yaml(indent=2)", "['a', 'b'] is subset(['a', 'b', 'c'])", "'x' is in ['x']", "5 is divisibleby 5", "{'a': 1} | combine({'b': 2}) | dictsort",
    "[[v, v], v] | to_yaml", "[v, v] | to_nice_yaml", "{'x': v, 'y': v} | to_yaml", "[1, [2, 3]] | flatten | sum", "'a' | regex_replace('a', '\\\\0')",
    "[{'n': 'a'}, {'n': 'b'}] | groupby('n') | map(attribute='grouper')", "[{'n': 'a'}] | groupby('n') | map(attribute='list')", "[{'n': 'a'}] | groupby('n') | map('first')",
    "('2024-02-29 10:11:12' | to_datetime).isoformat()", "('2024-02-29 10:11:12' | to_datetime).strftime('%j %f %z.')", "('2024-02-29 10:11:12' | to_datetime).timestamp()",
    "('2024-02-29 10:11:12' | to_datetime).date().isoformat()", "('2024-02-29 10:11:12' | to_datetime).weekday()", "('2024-02-29 10:11:12' | to_datetime).isocalendar()[1]",
    "('2024-02-29 10:11:12' | to_datetime).replace(day=1, hour=0) | string", "('2024-02-29 10:11:12' | to_datetime).replace(day=31)", "('2024-02-29 10:11:12' | to_datetime).year",
    "('2024-02-29 10:11:12' | to_datetime).toordinal()", "'abc'.encode('utf-8').decode()", "'abc'.nope()", "5 .nope()", "v.nope()", "[1].append", "'é'.encode().hex()",
    "[{'n': 'a'}] | groupby('n') | string", "([{'n': 'a'}] | groupby('n'))[0] | type_debug", "'abc' | hash('sha1')", "[1, 1.0, true] | unique", "['1', 1] | unique", "'%s' | format('é')",
]
