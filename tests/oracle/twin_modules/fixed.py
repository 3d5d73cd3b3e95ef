"""Cases that were once wrong. They run each time, before the random ones."""


def case(module, tree=(), check=False, diff=True, **arguments):
    task = {"module": module, "arguments": arguments, "check": check, "diff": diff}
    return {"tree": [dict(entry) for entry in tree], "task": task}


def file(path, text="a\n", **more):
    return {"path": path, "kind": "file", "bytes": text, **more}


def folder(path, **more):
    return {"path": path, "kind": "folder", **more}


FRAGMENTS = folder("d"), file("d/a"), file("d/b", "b")

CASES = [
    case("assemble", FRAGMENTS, src="", dest="ROOT/new"),
    case("assemble", FRAGMENTS, src="ROOT/d", dest="ROOT/new"),
    case("stat", [file("f")], path="ROOT/f/below", get_mime=False, get_attributes=False),
    case("stat", [file("f")], path="", get_mime=False, get_attributes=False),
    case("stat", [file("f", mode=0o111)], path="ROOT/f", get_mime=False, get_attributes=False),
    case("slurp", [file("f")], src=""),
    case("lineinfile", [file("f")], path="", line="x"),
    case("lineinfile", [file("f")], path="ROOT/f", line="x", diff=False),
    case("lineinfile", path="ROOT/f", line="x", create=True, check=True),
    case("blockinfile", [file("f")], path="ROOT/f", block="x"),
    case("blockinfile", [file("f")], path="ROOT/f", block="x", diff=False),
    case("find", [folder("d"), file("d/multi", "x\nb\ny"), file("d/one", "b")], paths=["ROOT/d"], read_whole_file=True, contains="^b$"),
    case("find", [folder("d"), file("d/multi", "x\nb\ny"), file("d/one", "b")], paths=["ROOT/d"], limit=1),
    case("find", [folder("d"), file("d/one", "b", time=-300_000_000_500_000_000)], paths=["ROOT/d"], contains="b", age_stamp="ctime", age="-1d"),
    case("stat", [file("f", time=-300_000_000_500_000_000)], path="ROOT/f", get_mime=False, get_attributes=False),
    case("file", [file("f", time=-300_000_000_500_000_000)], path="ROOT/f", state="touch", modification_time="preserve"),
    case("file", [file("f", time=1_500_000_000_123_456_789)], path="ROOT/f", state="touch", modification_time="preserve"),
    case("lineinfile", [file("f", time=-300_000_000_500_000_000)], path="ROOT/f", line="x", backup=True),
    case("file", [folder("d"), folder("d/b")], path="ROOT/d", state="hard", src="ROOT/gone/../d/b"),
    case("blockinfile", [file("f")], path="ROOT/gone/../f", block="x", create=True),
    case("ini_file", path="", option="n", value="1"),
]
