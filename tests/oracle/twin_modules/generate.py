"""Random small trees and random tasks of the twin test. The same seed gives the same ones."""

import base64
import random
import shlex

from ansible.release import __version__
from archives import ARCHIVES

# Whether options of ansible-core 2.20 and 2.21 are there.
IS_SINCE_2_21 = [int(number) for number in __version__.split(".")[:2]] >= [2, 21]

# Lines that text has and bytes have not, and letters that patterns of text know.
TEXTS = ["v\x0bw\x0c\r\nx\u2028y\x85z\n", "\xfcber\r\nfoo\u0085=1\rb", "\u0130\u00df foo\n"]
NAMES = ["a", "b", "c.txt", "d", "e.d", "sp ace", "ü", ".hidden", "L" * 255]
NO_TEXT = "n\udcff"
FILES = ["", "a\n", "a\nb\nc\n", "foo=1\nbar=2\nfoo=3\n", "[s]\nk = 1\n# c\n[t]\nk=2\n", "x\r\ny\r\n", "no newline", "ü\n".encode().decode("latin-1"),
    "a\n# BEGIN ANSIBLE MANAGED BLOCK\nold\n# END ANSIBLE MANAGED BLOCK\nz\n", "\xff\xfe\n", "long " * 3000, *(text.encode().decode("latin-1") for text in TEXTS)]
MODES = [0o644, 0o600, 0o755, 0o400, 0o640, 0o666, 0o000, 0o751]
SPECIAL_MODES = [0o4755, 0o2755, 0o1777]
TIMES = [1_600_000_000_000_000_000, 1_700_000_000_250_000_000, 1_500_000_000_123_456_789]
OLD_TIME = -300_000_000_500_000_000
WORDS = ["a", "b", "foo=9", "x y", "", "ü", "k = 5", "two\nlines"]
PATTERNS = ["^foo", "b", "^b$", "o=(.)", "[a-z]+", "nope", ".", "x.y", r"\bk\b", "(?m)^a$", r"\w+$", "\xdc", "(?i)\xdc", r"[\x80-\xff]"]


# Templates, what they may use, and what they leave open.
TEMPLATES = ["{{ a }}\n", "{% for x in b %}\n  {{ x }},\n{% endfor %}\nend\n", "{{ b | join('-') }}", "{{ c.k | default('d') }}{{ nope | default(1) }}",
    "{{ nope }}", "{# c #}\n{{ a | upper }}\n\n", "#jinja2: trim_blocks: False\n{% if a %}\nx\n{% endif %}\n", "{{ c | to_json }}\n", "{{ c | to_nice_yaml }}",
    "{{ b | map('upper') | list }}", "{% set n = 3 %}{{ n * 2 }}", "{{ '%05d' % 7 }}", "{{ b[5] }}", "{% if %}", "\u00fc {{ a }}\r\nx\n",
    "{{ template_destpath | basename }}", "  {% if true %}  y\n  {% endif %}\n", "{{ c.items() | list }}", "{% raw %}{{ x }}{% endraw %}",
    "{{ b | sort(reverse=true) }}", "{{ a ~ 1 }} {{ none }} {{ true }} {{ 1.50 }}", "{{ '2' | int + 1 }}", "no template", "", "{{ [1, 'x', None] }}\n\n\n",
    "{% for k, v in c | dictsort %}{{ loop.index }}:{{ k }}={{ v }}{% if not loop.last %};{% endif %}{% endfor %}"]
VARIABLES = {"a": "x", "b": ["p", "q"], "c": {"k": 1, "l": [1, 2.5, True]}}


class Generator:
    """Cases of one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def rarely(self, one_of):
        return self.random.randrange(one_of) == 0

    def pick(self, items):
        return self.random.choice(items)

    def case(self):
        """A tree and a task on it."""
        tree = self.tree()
        module = self.pick(list(TASKS))
        arguments = {key: value for key, value in TASKS[module](self, tree).items() if value is not None}
        task = {"module": module, "arguments": arguments, "check": self.rarely(5), "diff": self.rarely(2)}
        return {"tree": tree, "task": task}

    def tree(self):
        tree, folders, others = [], [""], []
        for _ in range(self.random.randrange(1, 9)):
            name = NO_TEXT if self.rarely(60) else self.pick(NAMES[:-1]) if self.random.randrange(40) else NAMES[-1]
            path = self.pick(folders) + name
            if any(entry["path"] == path for entry in tree):
                continue
            kind = self.pick(["folder", "folder", "file", "file", "file", "file", "link", "hard" if self.rarely(3) else "file"])
            files = [entry["path"] for entry in tree if entry["kind"] == "file"]
            if kind == "hard" and not files:
                kind = "file"
            entry = {"path": path, "kind": kind}
            if kind == "link":
                entry["to"] = self.link(tree, path)
            elif kind == "hard":
                entry["to"] = self.pick(files)
            else:
                if self.rarely(3):
                    entry["mode"] = self.pick(MODES)
                if self.rarely(50):
                    entry["mode"] = self.pick(SPECIAL_MODES)
                if kind == "file":
                    entry["bytes"] = self.pick(FILES)
            if kind != "hard" and self.rarely(3):
                entry["time"] = OLD_TIME if self.rarely(20) else self.pick(TIMES)
            tree.append(entry)
            if kind == "folder" and path.count("/") < 2:
                folders.append(path + "/")
        return tree

    def link(self, tree, path):
        """What a link says: a name beside it, above it, none, itself, an absolute path."""
        inside = [entry["path"] for entry in tree] or ["a"]
        up = "../" * path.count("/")
        return self.pick([
            up + self.pick(inside), up + self.pick(inside), up + self.pick(inside), "gone", path.rsplit("/", 1)[-1], ".",
            (up + self.pick(inside)) if self.random.randrange(4) else "ROOT/" + self.pick(inside)])

    def path(self, tree, kinds=("file", "folder", "link", "hard")):
        """A path to name: mostly of something that is there."""
        known = [entry["path"] for entry in tree if entry["kind"] in kinds] or [entry["path"] for entry in tree] or ["a"]
        folders = [entry["path"] + "/" for entry in tree if entry["kind"] == "folder"] + [""]
        way = self.random.randrange(40)
        if way < 26:
            path = self.pick(known)
        elif way < 33:
            path = self.pick(folders) + self.pick(NAMES[:-1])
        elif way < 35:
            path = self.pick([entry["path"] for entry in tree] or ["a"]) + "/below"
        elif way < 36:
            path = "gone/deep/new"
        elif way < 37:
            path = self.pick(known) + self.pick(["/", "/.", "//"])
        elif way < 38:
            path = self.pick(["gone/../", "./", "d/../"]) + self.pick(known)
        else:
            path = self.pick(known)
        return "" if self.rarely(150) else "ROOT/" + path

    def file(self, tree):
        return self.path(tree, ("file", "hard", "link") if self.rarely(3) else ("file",))

    def folder(self, tree):
        return "ROOT" if self.rarely(4) else self.path(tree, ("folder", "link"))

    def maybe(self, value, one_of=3):
        return value if self.rarely(one_of) else None

    def attributes(self):
        mode = self.pick(["0600", "0644", "u+x,go=", "a-w", "0755", "preserve" if self.rarely(20) else "g=u", "rubbish"])
        if self.rarely(30):
            mode = self.pick(["2755", "1777", "4755"])
        found = {"mode": self.maybe(mode, 4)}
        return found | {"owner": self.maybe(self.pick(["0", "no-such-user"]), 20)}

    def encoding(self):
        return {"encoding": self.maybe(self.pick(["latin-1", "ascii", "utf8"]), 6)} if IS_SINCE_2_21 else {}

    def text(self):
        return self.pick(WORDS)

    def pattern(self):
        return self.pick(PATTERNS)


def of_stat(g, tree):
    return {"path": g.path(tree), "follow": g.maybe(True), "get_checksum": g.maybe(False),
        "checksum_algorithm": g.maybe(g.pick(["md5", "sha256", "sha512"]), 4),
        "get_mime": False if g.random.randrange(8) else None, "get_attributes": False if g.random.randrange(8) else None,
        **({"get_selinux_context": g.maybe(g.pick([True, False]), 12)} if IS_SINCE_2_21 else {})}


def of_file(g, tree):
    state = g.pick(["absent", "directory", "file", "hard", "link", "touch", None])
    found = {"path": g.path(tree), "state": state, "follow": g.maybe(False), "force": g.maybe(True), **g.attributes()}
    if state in ("hard", "link") and g.random.randrange(10):
        found["src"] = g.path(tree) if state == "hard" or g.rarely(3) else g.pick(["a", "../a", "gone", "b"])
    if state == "hard" and str(found.get("src")).startswith(found["path"]):
        del found["src"]  # the original leaves its temporary name
    if g.rarely(5) and state == "directory":
        found["recurse"] = True
    if g.rarely(4) or state == "touch":
        found["modification_time"] = g.maybe(g.pick(["preserve", "now", "202001020304.05"]))
        found["access_time"] = g.maybe(g.pick(["preserve", "202101020304.05"]))
    return found


def of_lineinfile(g, tree):
    found = {"path": g.file(tree), "state": g.maybe(g.pick(["present", "absent"])), "line": g.text() if g.random.randrange(8) else None,
        "create": g.maybe(True), "backup": g.maybe(True, 8), "firstmatch": g.maybe(True, 5), **g.attributes(), **g.encoding()}
    found[g.pick(["regexp", "regexp", "search_string", "insertafter", "insertbefore"])] = g.maybe(g.pattern(), 2)
    if found.get("regexp") and g.rarely(4):
        found["backrefs"] = True
    if g.rarely(4):
        found[g.pick(["insertafter", "insertbefore"])] = g.pick(["EOF", "BOF", g.pattern()])
    return found


def of_blockinfile(g, tree):
    found = {"path": g.file(tree), "state": g.maybe(g.pick(["present", "absent"])), "block": g.maybe(g.text(), 2), "create": g.maybe(True),
        "backup": g.maybe(True, 8), "marker": g.maybe(g.pick(["# {mark} x", "no mark", "<!-- {mark} -->"]), 4),
        "prepend_newline": g.maybe(True, 6), "append_newline": g.maybe(True, 6), **g.attributes(), **g.encoding()}
    if g.rarely(3):
        found[g.pick(["insertafter", "insertbefore"])] = g.pick(["EOF", "BOF", g.pattern()])
    return found


def of_replace(g, tree):
    return {"path": g.file(tree), "regexp": g.pattern(), "replace": g.maybe(g.pick(["Z", r"\g<0>!", "", "x\n"]), 2),
        "after": g.maybe(g.pattern(), 6), "before": g.maybe(g.pattern(), 6), "backup": g.maybe(True, 8), **g.attributes(), **g.encoding()}


def of_find(g, tree):
    return {"paths": [g.folder(tree) for _ in range(1 + g.rarely(5))], "patterns": g.maybe([g.pick(["*", "a*", "*.txt", "[!a]*", "?"])]),
        "excludes": g.maybe([g.pick(["a", "*.d"])], 6), "file_type": g.maybe(g.pick(["any", "directory", "file", "link"]), 2),
        "hidden": g.maybe(True), "recurse": g.maybe(True, 2), "follow": g.maybe(True, 4), "depth": g.maybe(g.pick([1, 2]), 6),
        "limit": g.maybe(g.pick([1, 2]), 6), "contains": g.maybe(g.pattern()), "read_whole_file": g.maybe(True),
        "get_checksum": g.maybe(True, 4), "size": g.maybe(g.pick(["1", "-10", "1k"]), 6), "age": g.maybe(g.pick(["1d", "-1d", "600w"]), 6), **g.encoding()}


def of_slurp(g, tree):
    return {"src": g.path(tree), **({"armor": g.maybe(False, 2)} if IS_SINCE_2_21 else {})}


def of_assemble(g, tree):
    return {"src": g.folder(tree), "dest": g.file(tree), "delimiter": g.maybe(g.pick(["--", "\\n--\\n", ""])), "regexp": g.maybe(g.pattern(), 4),
        "ignore_hidden": g.maybe(True, 4), "backup": g.maybe(True, 8), **g.attributes()}


def of_copy(g, tree):
    source = g.pick([entry["path"] for entry in tree if entry["kind"] == "file"] or ["a"])
    return {"src": "ROOT/" + source, "dest": g.path(tree), "force": g.maybe(False, 5), "backup": g.maybe(True, 8), "follow": g.maybe(True),
        "checksum": g.maybe("3f786850e387550fdab836ed7e6dc881de23001b", 10), **g.attributes()}


def of_tempfile(g, tree):
    return {"path": g.folder(tree), "state": g.maybe("directory"), "prefix": g.maybe(g.pick(["p.", "", "x/y"])), "suffix": g.maybe(".s")}


def of_ini_file(g, tree):
    found = {"path": g.file(tree), "section": g.maybe(g.pick(["s", "t", "new"]), 2), "option": g.maybe(g.pick(["k", "foo", "n"]), 1),
        "state": g.maybe("absent"), "create": g.maybe(False, 4), "backup": g.maybe(True, 8), "no_extra_spaces": g.maybe(True, 4),
        "allow_no_value": g.maybe(True, 6), "exclusive": g.maybe(False, 6), "follow": g.maybe(True, 2), **g.attributes()}
    if g.rarely(5):
        found["values"] = [g.pick(["1", "2"]), "3"]
    elif g.random.randrange(8):
        found["value"] = g.pick(["1", "v v", "", "2"])
    return found


def of_archive(g, tree):
    # The original truncates an archive that is also a source before it reads it.
    paths = [g.path(tree) for _ in range(1 + g.rarely(3))]
    dest = g.file(tree) if g.random.randrange(5) else None
    return {"path": paths, "dest": None if dest in paths else dest,
        "format": g.maybe(g.pick(["gz", "tar", "zip", "bz2", "xz"]), 2), "force_archive": g.maybe(True), "remove": g.maybe(True, 6),
        "exclude_path": g.maybe([g.path(tree)], 8), "exclusion_patterns": g.maybe(["a*"], 8), "mode": g.maybe("0600", 4)}


def of_unarchive(g, tree):
    if g.random.randrange(10):
        # The first free name.
        name = next(name for name in ("packed", "packed2") if all(entry["path"] != name for entry in tree))
        tree.append({"path": name, "kind": "file", "bytes": base64.b64decode(g.pick(list(ARCHIVES.values()))).decode("latin-1")})
        src = "ROOT/" + name
    else:
        src = g.path(tree)
    return {"src": src, "dest": g.folder(tree), "remote_src": True, "list_files": g.maybe(True), "keep_newer": g.maybe(True, 5),
        "exclude": g.maybe([g.pick(["a", "*.txt", "d/*"])], 6), "include": g.maybe([g.pick(["a", "d/x", "gone"])], 8),
        "mode": g.maybe(g.pick(["0600", "u=rwX,go="]), 5)}


def of_command(g, tree):
    words = g.pick([["echo", "a", "b c"], ["echo", "$NOPE", "~x", "*"], ["cat", g.path(tree)], ["cat"], ["true"], ["false"], ["ls", "-1", g.folder(tree)],
        ["touch", g.path(tree)], ["mkdir", g.path(tree)], ["rm", "-r", g.path(tree)], ["head", "-c", "3", g.path(tree)], ["no-such-program", "x"],
        ["sh", "-c", "echo out; echo err >&2; exit 3"], ["sh", "-c", "printf '\\n\\nx\\n\\n'"], ["pwd"], [g.path(tree)], ["wc", "-c"]])
    # Only programs that read their input get some: writing to one that has ended fails in ansible-core, by chance.
    way = "argv" if words == ["pwd"] else g.pick(["argv", "cmd", "_raw_params"])
    found = {way: words if way == "argv" else shlex.join(words), "stdin": g.maybe(g.text()) if words in (["cat"], ["wc", "-c"]) else None, "stdin_add_newline": g.maybe(False, 5),
        "strip_empty_ends": g.maybe(False, 5), "expand_argument_vars": g.maybe(False, 6)}
    found["chdir"] = g.folder(tree) if words == ["pwd"] or g.rarely(3) else None
    found["creates"] = g.maybe(g.pick([g.path(tree), "ROOT/*", "ROOT/no*", ""]), 6)
    return found | {"removes": g.maybe(g.pick([g.path(tree), "ROOT/*", "ROOT/no*"]), 6)}


def of_template(g, tree):
    name = next(name for name in ("t.j2", "t2.j2") if all(entry["path"] != name for entry in tree))
    tree.append({"path": name, "kind": "file", "bytes": g.pick(TEMPLATES).encode().decode("latin-1")})
    found = {"src": "ROOT/" + name if g.random.randrange(12) else g.path(tree), "dest": g.path(tree), "variables": VARIABLES,
        "force": g.maybe(False, 8), "backup": g.maybe(True, 8), "trim_blocks": g.maybe(False, 5), "lstrip_blocks": g.maybe(True, 5),
        "newline_sequence": g.maybe("\r\n", 8), **g.attributes()}
    return found if found["mode"] != "preserve" else found | {"mode": None}


def of_uri(g, tree):
    found = {"url": "SERVER" + g.pick(["/text", "/data", "/wrong", "/echo?q=1", "/nothing", "/big", "/data/upper"]), "return_content": g.maybe(True, 2),
        "method": g.maybe(g.pick(["GET", "POST", "PUT", "HEAD", "get", "DELETE"]), 2), "status_code": g.maybe(g.pick([[200], [404], [200, 404]]), 4),
        "dest": g.maybe(g.path(tree), 3), "creates": g.maybe(g.path(tree), 8), "removes": g.maybe(g.path(tree), 8), "headers": g.maybe({"X-One": "1"}, 4)}
    if g.rarely(3):
        found |= {"body_format": g.pick(["json", "form-urlencoded", "raw"]), "body": g.pick([{"a": 1, "b": "x y"}, "a=1", "plain"])}
    if g.rarely(8):
        found = {**found, "src": g.path(tree), "body": None, "body_format": None}
    return found | g.attributes()


def of_get_url(g, tree):
    return {"url": "SERVER" + g.pick(["/text", "/data", "/nothing", "/big"]), "dest": g.path(tree), "force": g.maybe(True), "backup": g.maybe(True, 6),
        "checksum": g.maybe(g.pick(["sha1:f572d396fae9206628714fb2ce00f72e94f2258f", "md5:b1946ac92492d2347c6235b4d2611184", "sha256:00", "rubbish"]), 4),
        "headers": g.maybe({"X-One": "1"}, 4), **g.attributes()}


def of_ping(g, tree):
    return {"data": g.maybe(g.pick(["x", ""]), 2)}


TASKS = {name.removeprefix("of_"): make for name, make in sorted(globals().items()) if name.startswith("of_")}
