"""Scenarios of `find`."""

PROMISED = ["files", "matched", "examined", "skipped_paths"]

TREE = {"f/a.log": "one\n", "f/b.txt": "two\nthree\n", "f/.h.log": "h\n", "f/d/c.log": "x" * 3000, "f/d/e/g.log": "deep\n"}


def case(**arguments):
    return {"files": TREE, "links": {"f/l": "a.log", "f/d/m": "e"}, "path": "paths", "arguments": arguments}


def lines(files=None, **arguments):
    """A file with the ends of lines of three systems, or files by their digits."""
    return {"files": {}, "bytes": {f"f/{name}": digits for name, digits in (files or {"a": "610d620a630d0a"}).items()},
        "path": "paths", "arguments": arguments}


WHOLE = ["^two$", r"\Atwo", "^two", "three$", r"three\Z", "two.three", "(?s)two.three", "(?m)^three$", "^three", "two$"]

SCENARIOS = [
    case(),
    case(recurse=True),
    case(patterns="*.log"),
    case(patterns="*.log", recurse=True, hidden=True),
    case(patterns=["a*", "b*"]),
    case(patterns="*.log", excludes="a*", recurse=True),
    case(patterns="[!a]*"),
    case(patterns="?.txt,a.*"),
    case(patterns="^[ab]", use_regex=True),
    case(patterns="log", use_regex=True),
    case(file_type="any", recurse=True),
    case(file_type="directory", recurse=True),
    case(file_type="link", recurse=True),
    case(recurse=True, depth=1),
    case(recurse=True, depth=2),
    case(recurse=True, follow=True, file_type="any"),
    case(recurse=True, size="1k"),
    case(recurse=True, size="-1k"),
    case(recurse=True, size="4"),
    case(size="1x"),
    case(age="1d"),
    case(age="-1d", recurse=True),
    case(age="1w", age_stamp="mtime"),
    case(age="x"),
    case(contains="t"),
    case(contains=".*wo"),
    case(contains="wo"),
    case(contains="three$", read_whole_file=True),
    case(contains="two.three", read_whole_file=True),
    case(get_checksum=True, patterns="a.log"),
    case(get_checksum=True, checksum_algorithm="sha256", patterns="a.log"),
    case(limit=0),
    # With `read_whole_file`, `^` and `$` are the file's; of lines, only the starts are searched.
    *[case(contains=pattern, read_whole_file=True, recurse=True) for pattern in WHOLE],
    case(contains="three$"),
    case(contains="^three"),
    lines(contains="c"),
    lines(contains="b.c", read_whole_file=True),
    lines(contains=r"b\nc", read_whole_file=True),
    # A file that is not UTF-8 ends the search of its folder, as far as it is read.
    lines({"a": "ff0a"}, contains="x"),
    lines({"a": "780aff"}, contains="x"),
    lines({"a": "780aff"}, contains="x", read_whole_file=True),
    lines({"a": "780a" + "61" * 8192 + "ff"}, contains="x"),
    lines({"a": "61" * 8190 + "0a78ff"}, contains="x"),
    case(limit=1, patterns="b*"),
    case(limit=2, patterns="b*"),
    case(limit=1, patterns="b*", contains="t"),
    case(limit=9, recurse=True),
    case(size="1kb"),
    case(age="1day"),
    case(age="+1d"),
    case(file_type="any", depth=-1, recurse=True),
    case(file_type="gone"),
    case(unknown=1),
    {"files": {}, "path": "paths", "arguments": {}},
    {"files": {"f": "x"}, "path": "paths", "arguments": {}},
]
