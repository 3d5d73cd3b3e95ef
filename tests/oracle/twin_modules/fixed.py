"""Cases that were once wrong. They run each time, before the random ones."""

import base64

from archives import ARCHIVES
from generate import IS_SINCE_2_21, VARIABLES


def case(module, tree=(), check=False, diff=True, **arguments):
    task = {"module": module, "arguments": arguments, "check": check, "diff": diff}
    return {"tree": [dict(entry) for entry in tree], "task": task}


def file(path, text="a\n", **more):
    return {"path": path, "kind": "file", "bytes": text, **more}


def folder(path, **more):
    return {"path": path, "kind": "folder", **more}


def packed(kind):
    return file("packed", base64.b64decode(ARCHIVES[kind]).decode("latin-1"))


FRAGMENTS = folder("d"), file("d/a"), file("d/b", "b")

CASES = [
    case("assemble", FRAGMENTS, src="", dest="ROOT/new"),
    case("assemble", FRAGMENTS, src="ROOT/d", dest="ROOT/new"),
    case("assemble", [*FRAGMENTS, file("a"), {"path": "d/up", "kind": "link", "to": "../a"}], src="ROOT/d", dest="ROOT/new"),
    case("stat", [file("f")], path="ROOT/f/below", get_mime=False, get_attributes=False),
    *(case("file", [file("f")], path="ROOT/f/below", state=state, force=True) for state in ("absent", "directory", "touch")),
    case("assemble", [*FRAGMENTS, file("b")], src="ROOT/d", dest="ROOT/./b", backup=True),
    *(case("copy", [file("f")], src="ROOT/f", dest="", check=check) for check in (False, True)),
    case("stat", [file("f")], path="", get_mime=False, get_attributes=False),
    case("stat", [file("f", mode=0o111)], path="ROOT/f", get_mime=False, get_attributes=False),
    case("slurp", [file("f")], src=""),
    *(case("template", [file("t.j2", text), file("f"), {"path": "l", "kind": "link", "to": to}], src="ROOT/t.j2", dest=dest, variables=VARIABLES, **more)
        for text, to, dest, more in (
            ("{{ c.items() | list }}", "f", "ROOT/new", {}),
            ("{{ [(1, [(2,)])] }} {{ {'a': (1,)} }}\n", "f", "ROOT/new", {}),
            ("{{ a }}\n", "f", "ROOT/l", {}),
            ("{{ a }}\n", "f", "ROOT/l", {"follow": True}),
            ("{{ a }}\n", "gone", "ROOT/l", {"follow": True}),
            ("x\r\ny\r\n", "f", "ROOT/new", {}),
            ("{{ a }}\n\n\n", "f", "ROOT/new", {"newline_sequence": "\r\n"}),
            ("{{ template_destpath }}\n", "f", "ROOT", {}))),
    case("get_url", [file("f", mode=0o751), {"path": "l", "kind": "link", "to": "f"}], url="SERVER/text", dest="ROOT/l"),
    case("get_url", [file("f", mode=0o4755)], url="SERVER/text", dest="ROOT/f", backup=True),
    case("get_url", url="SERVER/text", dest=""),
    case("uri", [file("f", mode=0o751), {"path": "l", "kind": "link", "to": "f"}], url="SERVER/text", dest="ROOT/l"),
    *(case("uri", url="SERVER/nothing", dest="ROOT/new", status_code=[404], **more) for more in ({}, {"return_content": True})),
    case("uri", url="SERVER/nothing", status_code=[200, 404]),
    *(case("uri", [file("f")], url="SERVER/echo", method="POST", creates="ROOT/f", body=body, body_format=kind) for body, kind in (
        ({"a": 1}, "raw"), ({"a": {"b": 1}}, "form-urlencoded"), ({"a": {"filename": "ROOT/none"}}, "form-multipart"))),
    case("command", argv=["pwd"], chdir="ROOT"),
    case("assemble", [*FRAGMENTS, {"path": "l", "kind": "link", "to": "gone"}], src="ROOT/d", dest="ROOT/l", owner="no-such-user", check=True),
    case("lineinfile", [file("f", mode=0o6755)], path="ROOT/f", line="x"),
    case("copy", [file("a"), file("f", "x", mode=0o4711)], src="ROOT/a", dest="ROOT/f"),
    case("file", [file("f")], path="ROOT/f", mode="6755"),
    case("file", path="ROOT/f", state="touch", mode="u+s"),
    case("file", [folder("d")], path="ROOT/d", state="directory", mode="3775"),
    case("file", [folder("d"), file("d/f", mode=0o2755), folder("d/e")], path="ROOT/d", state="directory", recurse=True, mode="g+s"),
    case("stat", [folder("d", mode=0o600), file("f")], path="ROOT/d/../f", get_mime=False, get_attributes=False),
    case("copy", [folder("d", mode=0o555), file("d/f"), file("a")], src="ROOT/a", dest="ROOT/d/f", check=True),
    case("copy", [folder("d", mode=0o555), file("d/f"), file("a")], src="ROOT/a", dest="ROOT/d/f"),
    case("tempfile", path=""),
    case("tempfile", [folder("n\udcff")], check=True, path="ROOT/n\udcff"),
    case("assemble", [*FRAGMENTS, file("a")], src="ROOT/d", dest="ROOT/a/below", mode="0755", check=True),
    case("file", [file("f"), folder("d")], path="ROOT/d/l", state="link", src="../f", diff=False),
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
    *(case("ini_file", [*tree, {"path": "l", "kind": "link", "to": "d/f"}], check, path="ROOT/l", option="n", value="1", follow=True, **more)
        for tree in ([], [folder("d")], [folder("d"), file("d/f")]) for more in ({}, {"backup": True}, {"create": False}) for check in (False, True)),
    case("archive", [file("f"), file("g")], path=["ROOT/f"], dest="ROOT/g", format="tar"),
    case("archive", [file("f"), folder("g")], path=["ROOT/f"], dest="ROOT/g"),
    case("archive", [file("f", time=-300_000_000_500_000_000), file("g", "")], path=["ROOT/f"], dest="ROOT/g", format="bz2"),
    case("archive", [file("f", time=300_000_000_000_000_000)], path=["ROOT/f"], dest="ROOT/g", format="zip", force_archive=True),
    case("archive", [folder("d"), file("d/a"), folder("d/e"), file("d/e/b")], path=["ROOT/./d"], dest="ROOT/d/e/new", remove=False),
    case("archive", [folder("d"), file("d/a"), {"path": "d/l", "kind": "link", "to": "a"}], path=["ROOT/d"], dest="ROOT/new", remove=True),
    case("archive", [folder("d"), {"path": "l", "kind": "link", "to": "d"}], path=["ROOT/l"], dest="ROOT/new", remove=True, format="zip"),
    case("archive", [file("f", "a\n")], path=["ROOT/f"], dest="ROOT/new", remove=True, format="zip", exclusion_patterns=["*"]),
    case("archive", [file("a")], path=["ROOT/./a", "ROOT/gone"], dest="ROOT/new"),
    *(case("unarchive", [*tree, packed(kind)], src="ROOT/packed", dest="ROOT", remote_src=True, list_files=True, **more)
        for kind, more in (("tar", {}), ("zip", {}), ("links", {}), ("tar", {"exclude": ["d/*"]}), ("zip", {"keep_newer": True, "mode": "0600"}))
        for tree in ([file("d")], [folder("a")], [folder("a"), file("a/full")], [{"path": "d", "kind": "link", "to": "gone"}],
            [folder("e", mode=0o700), {"path": "d", "kind": "link", "to": "e"}], [folder("d", mode=0o700)], [{"path": "l", "kind": "link", "to": "a"}],
            [{"path": "d", "kind": "link", "to": "d"}], [file("a", mode=0o600), file("c.txt", "newer\n")])),
    case("unarchive", [folder("d"), packed("tar")], src="ROOT/packed", dest="ROOT/gone/../d", remote_src=True),
    # What the user may not write, for another user than root.
    *(case("archive", [file("a"), file("kept", mode=0o444)], path=["ROOT/a"], dest="ROOT/kept", **more) for more in (
        *({"format": kind, "force_archive": packs} for kind in ("gz", "xz", "zip") for packs in (False, True)), {"format": "xz", "remove": True})),
    *(case("copy", [file("a"), folder("d", mode=0o555), file("d/x", text), {"path": "l", "kind": "link", "to": "d/x"}], check, src="ROOT/a", dest=dest, follow=True)
        for dest in ("ROOT/d/x", "ROOT/d/new", "ROOT/d", "ROOT/l") for text in ("a\n", "x\n") for check in (False, True)),
    case("copy", [folder("d", mode=0o666), file("d/x")], src="ROOT/d/x", dest="ROOT/new"),
    *(case("unarchive", [folder("d", mode=0o333), packed(kind)], src="ROOT/packed", dest="ROOT/d", remote_src=True) for kind in ("tar", "zip")),
    case("slurp", [file("n\udcff")], src="ROOT/n\udcff"),
    case("find", [file("n\udcff"), folder("d\udcfe")], paths=["ROOT", "ROOT/d\udcfe"], file_type="any"),
    case("stat", [file("n\udcff"), {"path": "l", "kind": "link", "to": "n\udcff"}], path="ROOT/l", get_mime=False, get_attributes=False),
    case("archive", [file("n\udcff")], path=["ROOT/n\udcff"], dest="ROOT/new", format="tar", force_archive=True),
]

# Text that is not UTF-8, with all ends of lines, in modules that edit or search text.
LATIN = file("f", "\xfcber\r\nfoo=1\rb\n")

if IS_SINCE_2_21:
    CASES += [
        *(case(module, [LATIN], path="ROOT/f", **more, **encoding)
            for encoding in ({}, {"encoding": "latin-1"}, {"encoding": "ascii"})
            for module, more in (
                ("lineinfile", {"line": "\xe4", "regexp": r"^\w+$"}),
                ("lineinfile", {"line": "\u20ac"}),
                ("lineinfile", {"state": "absent", "regexp": "foo"}),
                ("blockinfile", {"block": "\xe4", "insertafter": r"^\w+$"}),
                ("blockinfile", {"block": "\u20ac"}),
                ("replace", {"regexp": r"(\w)$", "replace": r"\1\xe4"}),
                ("replace", {"regexp": "foo", "replace": "\u20ac"}))),
        *(case("find", [LATIN, file("g", "b\n")], paths=["ROOT"], contains=r"\w*ber$", **more)
            for more in ({}, {"encoding": "latin-1"}, {"encoding": "ascii"}, {"encoding": "latin-1", "read_whole_file": True})),
        *(case("slurp", [file("f", text)], src="ROOT/f", armor=armor) for text in ("\xc3\xbc\n", "\xff\x80\n") for armor in (False, True)),
        case("stat", [LATIN], path="ROOT/f", get_mime=False, get_attributes=False, get_selinux_context=False),
    ]
