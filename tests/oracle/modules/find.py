"""Scenarios of `find`."""

PROMISED = ["files", "matched", "examined"]

TREE = {"f/a.log": "one\n", "f/b.txt": "two\nthree\n", "f/.h.log": "h\n", "f/d/c.log": "x" * 3000, "f/d/e/g.log": "deep\n"}


def case(**arguments):
    return {"files": TREE, "links": {"f/l": "a.log", "f/d/m": "e"}, "path": "paths", "arguments": arguments}


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
    case(file_type="gone"),
    case(unknown=1),
    {"files": {}, "path": "paths", "arguments": {}},
    {"files": {"f": "x"}, "path": "paths", "arguments": {}},
]
