#!/usr/bin/env python3
"""Compares modbox's own modules with ansible-core's modules of the same names.

    cargo build -p modbox-module-stat -p modbox-module-copy -p modbox-module-lineinfile -p modbox-module-ping
    python3 tests/oracle/modules_oracle.py VENV/bin target/debug
    python3 tests/oracle/modules_oracle.py VENV/bin target/wasm32-wasip2/modbox --suffix .wasm --runner 'modbox'

The scenarios are here and, where they are many, in `modules/NAME.py`. Each runs on two equal folders, once per side, in check mode, for real, and for real again. What
must agree: the bytes on disk, `changed`, `failed`, `msg`, `diff` and the keys that the module promises.
With `--sample N` only N of them run, which `--seed` chooses.
With `--runner CMD` a module is executed as `CMD MODULE ARGSFILE`, otherwise as `MODULE ARGSFILE`.

Left out on purpose: `insertafter` on a last line without a newline. ansible-core glues the new line to it, once
more on each run; modbox ends that line first.

ansible-core's `copy` and `template` are half action plugins, so they go through a playbook; the others run as Python files.
Differences are printed; the exit status is 1 if there is one.
"""

import argparse
import functools
import hashlib
import importlib
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ORACLE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True  # nothing shall lie beside the sources
sys.path.insert(0, ORACLE)
import fork
import forking_python

TEXT = "a\nfoo=1\nb\nfoo=2\nc\n"


def line(contents, **arguments):
    return {"module": "lineinfile", "files": {} if contents is None else {"f": contents}, "arguments": arguments}


LINEINFILE = [
    line(TEXT, line="foo=9", regexp="^foo="),
    line(TEXT, line="foo=9", regexp="^foo=", firstmatch=True),
    line(TEXT, line="foo=2", regexp="^foo="),
    line(TEXT, line="new"),
    line(TEXT, line="b"),
    line(TEXT, line="new", insertafter="EOF"),
    line(TEXT, line="new", insertbefore="BOF"),
    line(TEXT, line="new", insertafter="BOF"),
    line(TEXT, line="new", insertbefore="EOF"),
    line(TEXT, line="new", insertafter="^foo"),
    line(TEXT, line="new", insertafter="^foo", firstmatch=True),
    line(TEXT, line="new", insertbefore="^foo"),
    line(TEXT, line="new", insertbefore="^foo", firstmatch=True),
    line(TEXT, line="new", insertafter="^c$"),
    line(TEXT, line="new", insertbefore="^a$"),
    line(TEXT, line="new", insertafter="nope"),
    line(TEXT, line="new", insertbefore="nope"),
    line(TEXT, line="b", insertafter="^foo=1"),
    line(TEXT, line="c", insertafter="^a"),
    line(TEXT, line="a", insertbefore="^c"),
    line(TEXT, line="new", regexp="^nope", insertafter="^a"),
    line(TEXT, line="new", regexp="^nope", insertbefore="^a"),
    line(TEXT, line="b", regexp="^nope", insertafter="^foo=1"),
    line(TEXT, line="b", regexp="^nope", insertbefore="^foo=2"),
    line(TEXT, line="c", regexp="^nope", insertbefore="^a"),
    line(TEXT, line="foo=9", regexp="^foo=", insertafter="^a"),
    line(TEXT, line=r"bar\1", regexp="^foo(=.*)", backrefs=True),
    line(TEXT, line=r"\g<k>:\g<v>", regexp=r"^(?P<k>\w+)=(?P<v>\d)$", backrefs=True),
    line(TEXT, line=r"x\1", regexp="^nope(.*)", backrefs=True),
    line(TEXT, line="b", regexp="^nope(.*)", backrefs=True),
    line(TEXT, line="q", backrefs=True),
    line(TEXT, line="foo=9", search_string="foo="),
    line(TEXT, line="foo=9", search_string="foo=", firstmatch=True),
    line(TEXT, line="new", search_string="nope"),
    line(TEXT, line="new", search_string="nope", insertafter="^a"),
    line(TEXT, state="absent", line="b"),
    line(TEXT, state="absent", line="nope"),
    line(TEXT, state="absent", regexp="^foo"),
    line(TEXT, state="absent", search_string="o="),
    line(TEXT, state="absent"),
    line(TEXT, state="absent", regexp="^foo", line="b"),
    line(TEXT, line="foo=9", regexp=""),
    line(TEXT, line="foo=9", search_string=""),
    line(TEXT),
    line(TEXT, line=""),
    line(TEXT, line="two\nlines"),
    line(TEXT, line="b\n"),
    line(TEXT, line="q", insertafter="a", insertbefore="b"),
    line(TEXT, line="q", regexp="a", search_string="a"),
    line(TEXT, line="q", unknown=1),
    line(TEXT, line="q", state="gone"),
    line(None, line="q"),
    line(None, line="q", create=True),
    line(None, state="absent", line="q"),
    line(None, line="q", create=True, insertbefore="BOF"),
    line("", line="q"),
    line("", line="q", insertafter="x"),
    line("", line="q", insertbefore="x"),
    line("x\ny", line="q"),
    line("x\ny", line="y"),
    line("x\ny", line="q", regexp="y"),
    line("x\ny", line="q", insertafter="^x"),
    line("x\ny", line="q", insertbefore="^y"),
    line("x\ny", state="absent", line="y"),
    line("x\ny", state="absent", line="x"),
    line("a\r\nb\r\n", line="b"),
    line("a\r\nb\r\n", line="c", insertafter="^a"),
    line("a\r\nb\r\n", state="absent", line="a"),
    line("a\r\nb\r\n", line="c", regexp="b$"),
    line("a\r\nb\r", line="c"),
    line("é\nü\n", line="ö", regexp="^ü"),
    line("é\nü\n", line="ö", regexp=r"^\w"),
    line("é\nü\n", line="ö", regexp="^.$"),
    line("é\nü\n", state="absent", regexp=r"^\W{2}$"),
    line("# Port 22\nPort 2222\n", line="Port 22", regexp=r"^#?\s*Port\b"),
    line("SELINUX=disabled\n", line="SELINUX=enforcing", regexp="^SELINUX="),
    line("10.0.0.1 x\n127.0.0.1 localhost\n", line="127.0.0.1 lo", regexp=r"^127\.0\.0\.1", insertafter="EOF"),
    line("%wheel ALL=(ALL) ALL\n", line="%wheel ALL=(ALL) NOPASSWD: ALL", regexp=r"^%wheel\s"),
    line("-Xms256m\n", line=r"\1-Xmx$\{m\}", regexp=r"^(.*)-Xms(\d+)m\s*$", backrefs=True),
    line("a b\n", line=r"\2 \1", regexp=r"(?i)(A)\s(?P<x>B)", backrefs=True),
    line("aa\nbb\n", line="x", regexp=r"(.)\1$"),
    line("key = v\n", line="key = w", regexp=r"^(?!#)\s*key\s*(?==)"),
    line(TEXT, line="b", mode="0600"),
    line(TEXT, line="new", mode="0600"),
    line(TEXT, line="b", mode="0644"),
    line(TEXT, line="new", mode="u+x,go="),
    line(TEXT, line="new", mode="rw"),
    line(TEXT, line="new", owner=str(os.getuid()), group=str(os.getgid())),
    line(TEXT, line="new", owner="no-such-user"),
    line(TEXT, line="b", group="no-such-group"),
    line(TEXT, state="absent", line="b", mode="0640"),
    line(TEXT, state="absent", line="nope", mode="0640"),
    line(None, line="q", create=True, mode="0600"),
]

STAT = [
    {"module": "stat", "files": {"f": "hi\n"}, "arguments": {}},
    {"module": "stat", "files": {"f": "hi\n"}, "arguments": {"checksum_algorithm": "sha256"}},
    {"module": "stat", "files": {"f": "hi\n"}, "arguments": {"checksum": "md5"}},
    {"module": "stat", "files": {"f": "hi\n"}, "arguments": {"get_checksum": False}},
    {"module": "stat", "files": {"f": ""}, "arguments": {"checksum_algorithm": "sha512"}},
    {"module": "stat", "files": {}, "arguments": {}},
    {"module": "stat", "files": {}, "folders": ["f"], "arguments": {}},
    {"module": "stat", "files": {"g": "hi\n"}, "links": {"f": "g"}, "arguments": {}},
    {"module": "stat", "files": {"g": "hi\n"}, "links": {"f": "g"}, "arguments": {"follow": True}},
    {"module": "stat", "files": {}, "links": {"f": "g"}, "arguments": {"follow": True}},
    {"module": "stat", "files": {"f": "hi\n"}, "arguments": {"checksum_algorithm": "crc"}},
    {"module": "stat", "files": {"f": "hi\n"}, "arguments": {"follow": "perhaps"}},
    {"module": "stat", "files": {"f": "hi\n"}, "arguments": {"path": "ROOT/f/below"}, "path": None, "own_words": True},
    {"module": "stat", "files": {}, "arguments": {"path": "ROOT/f/below"}, "path": None},
    {"module": "stat", "files": {"f": "hi\n"}, "modes": {"f": 0o000}, "arguments": {}},
    {"module": "stat", "files": {"f": "hi\n"}, "modes": {"f": 0o751}, "arguments": {}},
]


def copy(files=None, folders=(), **arguments):
    return {"module": "copy", "files": files or {}, "folders": folders, "arguments": arguments, "path": "dest"}


COPY = [
    copy(content="hi\n"),
    copy({"f": "old\n"}, content="hi\n"),
    copy({"f": "hi\n"}, content="hi\n"),
    copy({"f": "old\n"}, content="hi\n", force=False),
    copy(content="hi\n", force=False),
    copy(content={"a": 1, "b": [True, None]}),
    copy({"f": "old\n"}, content=""),
    copy(folders=["f"], content="hi\n"),
    copy(content="é\n"),
    copy(),
    copy(content="x", src="y"),
    copy({"f": "old\n"}, content="hi\n", backup=True),
    copy(content="hi\n", mode="0600"),
    copy({"f": "old\n"}, content="hi\n", mode="0751"),
    copy({"f": "hi\n"}, content="hi\n", mode="u=rwx,g=u-w,o="),
    copy({"f": "hi\n"}, content="hi\n", mode="a+X,go-r"),
    copy({"f": "hi\n"}, content="hi\n", mode=0o640),
    copy({"f": "hi\n"}, content="hi\n", mode="0644"),
    copy({"f": "hi\n"}, content="hi\n", mode="rw"),
    copy({"f": "hi\n"}, content="hi\n", mode="ua=r"),
    copy({"f": "hi\n"}, content="hi\n", owner=str(os.getuid()), group=str(os.getgid())),
    copy({"f": "hi\n"}, content="hi\n", owner="no-such-user"),
    copy({"f": "hi\n"}, content="hi\n", group="no-such-group"),
    copy({"f": "old\n"}, content="hi\n", mode="0600", force=False),
    copy({"s": "text\n"}, src="s"),
    copy({"s": "text\n", "f": "old\n"}, src="s"),
    copy({"s": "text\n", "f": "text\n"}, src="s"),
    copy({"s": "text\n", "f": "old\n"}, src="s", force=False),
    copy({"s": "text\n", "f": "old\n"}, src="s", backup=True),
    copy({"s": "", "f": "old\n"}, src="s", mode="0600"),
    copy({"s": "text\n"}, ["f"], src="s"),
    copy(src="missing") | {"own_words": True},  # there is no controller
    copy({"s": "text\n"}, src="s", checksum="aa785adca3fcdfe1884ae840e13c6d294a2414e8"),
    copy({"s": "text\n", "f": "old\n"}, src="s", mode="u=rw,go="),
    copy({"s": "é\r\n\u2028"}, src="s"),
]

PING = [
    {"module": "ping", "files": {}, "arguments": {}, "path": None},
    {"module": "ping", "files": {}, "arguments": {"data": "x"}, "path": None},
    {"module": "ping", "files": {}, "arguments": {"date": "x"}, "path": None},
]

# What a result must agree on, beside `changed`, `failed`, `msg`, `diff` and `skipped`.
PROMISED = {
    "ping": ["ping"],
    "lineinfile": ["found"],
    "copy": ["checksum", "uid", "gid", "owner", "group", "mode", "state", "size"],
    "stat": ["exists", "path", "isreg", "isdir", "islnk", "size", "mtime", "checksum", "lnk_target",
        "mode", "uid", "gid", "pw_name", "gr_name", "nlink", "wusr", "rusr", "xusr", "wgrp", "rgrp", "xgrp", "woth", "roth", "xoth",
        "isuid", "isgid", "readable", "writeable", "executable"],
}
# Times before this are those that `prepare` gave, or an archive; later ones are of this run.
LONG_AGO = 1_750_000_000
# Those whose whole trees are compared, and whose differences are of more than contents.
TREES = set()
# Those whose originals give folders one time or another.
FOLDERS_ARE_OLD = set()
# What tells the contents of what a module makes.
DECODERS = {}
# Those that are action plugins, too, so that only a playbook runs them.
PLAYED = {"copy"}
# What a failed result must agree on, beside that.
FAILED = {}
# Those that ask servers.
SERVED = set()
# A file in which something is on its way has a name by chance.
ON_ITS_WAY = re.compile(r"(?<=The checksum for )\S+(?= did not match)")
# Those whose failures say as much as their successes.
TOLD_OF_FAILURES = {"command"}
# What a result need not agree on.
IGNORED = set()
# The Python modules of those that are in a collection.
NAMES = {}
# Messages in which ansible-core names options that modbox's modules do not have.
SUPPORTED_LIST = re.compile(r"Supported parameters include: .*", re.S)
# Python lists a set, whose order changes from run to run.
BOOLEANS = re.compile(r"(?<=Valid booleans include: ).*", re.S)
# Bytes that are no UTF-8: Python's lone surrogates, and what a Rust text has instead.
NO_TEXT = re.compile("[\udc80-\udcff]")
# What ansible-core's action plugin says in its own words; modbox's module says what its argument spec says.
ACTION_MESSAGES = {
    # Before ansible-core 2.21.
    "non-zero return code": "The command exited with a non-zero return code.",
    "src and content are mutually exclusive": "parameters are mutually exclusive: content|src",
}


def at_servers(arguments, root):
    """Arguments with the addresses of servers, which are started."""
    url, other = importlib.import_module("web_server").servers()
    text = json.dumps(arguments, ensure_ascii=False)
    for name, value in (("ROOT", root), ("URL", url), ("OTHER", other)):
        text = text.replace(name, value)
    return json.loads(text)


def prepare(root, scenario):
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    contents_of = {name: contents.encode() for name, contents in scenario.get("files", {}).items()}
    contents_of.update({name: bytes.fromhex(digits) for name, digits in scenario.get("bytes", {}).items()})
    for name, contents in contents_of.items():
        os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
        with open(os.path.join(root, name), "wb") as file:
            file.write(contents)
        os.utime(os.path.join(root, name), (1_700_000_000, 1_700_000_000.25))
    for name in scenario.get("folders", ()):
        os.mkdir(os.path.join(root, name))
        os.utime(os.path.join(root, name), (1_700_000_000, 1_700_000_000.25))
    for name, target in scenario.get("names", {}).items():
        os.link(os.path.join(root, target), os.path.join(root, name))
    for name, time in scenario.get("times", {}).items():
        os.utime(os.path.join(root, name), (time, time))
    for name, mode in scenario.get("modes", {}).items():
        os.chmod(os.path.join(root, name), mode)
    for name, target in scenario.get("links", {}).items():
        os.symlink(rooted(target, root), os.path.join(root, name))
        os.utime(os.path.join(root, name), (1_700_000_000, 1_700_000_000.25), follow_symlinks=False)


def rooted(value, root):
    """A value in which ROOT stands for the scenario's folder."""
    return json.loads(json.dumps(value).replace("ROOT", root))


def tree_on_disk(root, folder_times, decode=None):
    """All that is below a folder: links by what they say, files with their contents, names and times, modes of all."""
    found = {}
    for folder, folders, files in os.walk(root):
        for path in (os.path.join(folder, name) for name in folders + files):
            stat = os.lstat(path)
            kept = stat.st_mtime if stat.st_mtime < LONG_AGO else "now"
            if os.path.islink(path):
                seen = "link", os.readlink(path).replace(root, "ROOT")
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    contents = file.read()
                if decode and name_of_archive(path):
                    contents, kept = decode(contents), None
                contents = contents if len(contents) < 200 or isinstance(contents, list) else hashlib.sha256(contents).hexdigest()
                seen = contents, oct(stat.st_mode), stat.st_nlink, kept
            else:
                seen = "other", oct(stat.st_mode), kept if os.path.isdir(path) and folder_times else None
            found[os.path.relpath(path, root)] = seen
    return found


def name_of_archive(path):
    return os.path.basename(path).split(".")[0] == "f" or path.endswith((".gz", ".bz2", ".xz"))


def on_disk(root):
    found = {}
    for name in sorted(os.listdir(root)):
        path = os.path.join(root, name)
        name = re.sub(r"\.\d+\.\d{4}-\d\d-\d\d@\d\d:\d\d:\d\d~$", ".BACKUP~", name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[name] = file.read(), oct(os.stat(path).st_mode)
        else:
            found[name] = "folder" if os.path.isdir(path) else "other"
    return found


def last_object(output):
    start = output.find("{")
    try:
        return json.loads(output[start:])
    except ValueError:
        return {"failed": True, "unparsable": output}


def run_ansible(options, module, arguments, scratch, check_mode):
    path = os.path.join(scratch, "ansible-args.json")
    internal = {"_ansible_check_mode": check_mode, "_ansible_diff": True, "_ansible_module_name": module}
    internal["_ansible_tmpdir"] = scratch  # or it makes one in the home folder
    with open(path, "w") as file:
        json.dump({"ANSIBLE_MODULE_ARGS": {**arguments, **internal}}, file)
    python = forking(options.ansible, options.collections)
    with tempfile.TemporaryFile() as output, open(os.devnull) as nothing:
        named = ["-m", NAMES.get(module, f"ansible.modules.{module}"), path]
        fork.fork(python.address, named, [nothing.fileno(), output.fileno(), 2])
        output.seek(0)
        return last_object(output.read().decode())


@functools.cache
def forking(ansible, collections):
    environment = {**os.environ, "PYTHONPATH": collections or ""}
    return forking_python.ForkingPython(os.path.join(ansible, "python"), environment)


def play(options, scratch, module, all_arguments, check_mode):
    """Runs a module with many arguments in one playbook, and returns what each registered."""
    tasks = []
    for number, arguments in enumerate(all_arguments):
        own = {key: value for key, value in arguments.items() if key != "variables"}
        task = {f"ansible.builtin.{module}": own, "register": f"task_{number}", "ignore_errors": True}
        tasks.append({**task, "vars": arguments.get("variables", {})})
    registered = os.path.join(scratch, "registered.json")
    names = ", ".join(f"task_{number}" for number in range(len(tasks)))
    tasks.append({"keep": {"content": "{{ [%s] | to_json }}" % names, "dest": registered}})
    os.makedirs(os.path.join(scratch, "action_plugins"), exist_ok=True)
    shutil.copy(os.path.join(ORACLE, "keep.py"), os.path.join(scratch, "action_plugins"))
    playbook = os.path.join(scratch, "play.yml")
    with open(playbook, "w") as file:
        json.dump([{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}], file)
    configuration = os.path.join(scratch, "ansible.cfg")
    open(configuration, "w").close()
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": configuration,
        "ANSIBLE_HOME": os.path.join(scratch, "home"),
        "ANSIBLE_PIPELINING": "True",  # a third fewer processes
        "ANSIBLE_LOCAL_TEMP": os.path.join(scratch, "local-tmp"),
        "ANSIBLE_REMOTE_TEMP": os.path.join(scratch, "remote-tmp"),
    }
    forking = os.path.join(ORACLE, "forking_python.py")
    command = [os.path.join(options.ansible, "python"), forking, "-m", "ansible", "playbook", "--diff", playbook]
    command += ["--check"] if check_mode else []
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if not os.path.exists(registered):
        sys.exit(f"the play registered nothing\n{run.stdout}\n{run.stderr}")
    with open(registered) as file:
        results = json.load(file)
    os.remove(registered)
    return results


def run_modbox(start, arguments, scratch, module, check_mode):
    path = os.path.join(scratch, "modbox-args.json")
    internal = {"_ansible_check_mode": check_mode, "_ansible_diff": True, "_ansible_module_name": module}
    with open(path, "w") as file:
        json.dump({**arguments, **internal}, file)
    run = subprocess.run([*start, path], capture_output=True, text=True)
    return last_object(run.stdout)


def comparable(module, result, root):
    result = json.loads(json.dumps(result).replace(root, "ROOT"))
    out = {"changed": bool(result.get("changed")), "failed": bool(result.get("failed"))}
    out["msg"] = SUPPORTED_LIST.sub("Supported parameters ...", result.get("msg") or "")
    out["msg"] = BOOLEANS.sub(lambda found: ", ".join(sorted(found[0].split(", "))), out["msg"])
    out["msg"] = out["msg"].removeprefix("Task failed: ")
    out["msg"] = ACTION_MESSAGES.get(out["msg"], out["msg"])
    if module in TREES:
        out["diff"] = without_now(result.get("diff"))
    elif module != "copy":  # its action plugin has headers of its own
        diff = content_diff(result.get("diff"))
        out["diff"] = diff[:2] if diff and module in PLAYED else diff
    out["msg"] = ON_ITS_WAY.sub("FILE", out["msg"])
    if module in ("lineinfile", "blockinfile") and not out["failed"]:
        out["diffs"] = isinstance(result.get("diff"), list) and len(result["diff"])
    if module not in PLAYED | TREES:
        out["attributes_diff"] = attributes_diff(result.get("diff"))
    if out["failed"] and module not in TOLD_OF_FAILURES:
        return {**out, **{key: result.get(key) for key in FAILED.get(module, ())}}
    source = result.get("stat", {}) if module == "stat" else result
    for key in PROMISED[module]:
        out[key] = listed(source.get(key)) if (module, key) == ("find", "files") else source.get(key)
        if module in DECODERS and isinstance(out[key], list):
            out[key] = sorted(out[key])  # folders are listed in any order
    if module in SERVED and isinstance(out.get("content"), str):
        out["content"] = NO_TEXT.sub("\ufffd", out["content"])  # with them, ansible-core refuses the result
    return out


def without_now(value):
    """A difference without the times of this run, and lists of names in their order."""
    if isinstance(value, dict):
        return {key: without_now(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted(value)
    return "now" if isinstance(value, float) and value > LONG_AGO else value


def listed(files):
    """Files in the order of their paths, with what modbox knows of them; reading changes times."""
    keys = ("path", "isreg", "isdir", "islnk", "size", "checksum")
    size = {True: lambda file: None, False: lambda file: file["size"]}
    shown = [{key: file.get(key) for key in keys} | {"size": size[file["isdir"]](file)} for file in files or []]
    return sorted(shown, key=lambda file: file["path"])


def content_diff(diff):
    """The difference of the contents; ansible-core adds one of the file's attributes."""
    diffs = [diff] if isinstance(diff, dict) else diff or []
    for item in diffs:
        if isinstance(item.get("before"), str) and isinstance(item.get("after"), str):
            texts = [NO_TEXT.sub("\ufffd", item[key]) for key in ("before", "after")]
            return [*texts, item.get("before_header"), item.get("after_header")]
    return None


def attributes_diff(diff):
    """The difference of the file's attributes, where the original shows it beside that of the contents."""
    for item in diff if isinstance(diff, list) else []:
        if isinstance(item.get("before"), dict):
            return item
    return None


def compare(module, scenarios, options, scratch):
    """Returns the differences between Ansible's side and ours, for each scenario of a module."""
    seen = [{} for _ in scenarios]
    ours = {"modbox": [*shlex.split(options.runner), os.path.join(options.modules, module + options.suffix)]}
    if options.native:
        ours["native"] = [os.path.join(options.native, module)]
    for side in "ansible", *ours:
        roots = [os.path.join(scratch, f"{side}-{number}") for number in range(len(scenarios))]
        all_arguments = []
        for root, scenario in zip(roots, scenarios):
            prepare(root, scenario)
            option = scenario.get("path", "path")
            given = rooted({**scenario["arguments"], **({option: "ROOT/f"} if option else {})}, root)
            if "src" in given and module not in TREES:  # a path, too, and the runner takes only absolute ones
                given["src"] = os.path.join(root, given["src"])
            if module in SERVED:
                given = at_servers(given, root)
            all_arguments.append(given)
        for run, check_mode in (("check", True), ("first", False), ("second", False)):
            if side in ours:
                results = [run_modbox(ours[side], a, scratch, module, check_mode) for a in all_arguments]
            elif module in PLAYED:
                results = play(options, scratch, module, all_arguments, check_mode)
            else:
                results = [run_ansible(options, module, a, scratch, check_mode) for a in all_arguments]
            for found, root, result in zip(seen, roots, results):
                disk = tree_on_disk(root, module not in FOLDERS_ARE_OLD, DECODERS.get(module)) if module in TREES else on_disk(root)
                found[side, run] = {**comparable(module, result, root), "disk": disk}
    return [
        [different for side in ours for different in differences(module, scenario, found, side)]
        for scenario, found in zip(scenarios, seen)
    ]


def differences(module, scenario, seen, side):
    different = []
    for run in ("check", "first", "second"):
        ansible, modbox = seen["ansible", run], seen[side, run]
        for key in sorted((set(ansible) | set(modbox)) - IGNORED):
            # Action plugins know nothing of the file before they have copied, nor where nothing is to be done.
            unknown = module in PLAYED and key in {"checksum", *PROMISED.get(module, ())} and ansible.get(key) is None
            # Where the original skips itself in check mode, it must only be that nothing is changed.
            unknown |= bool(scenario.get("own_check")) and run == "check" and key != "disk"
            # A parser's mistakes have its own words, but there are some.
            own_words = key == "msg" and scenario.get("own_words") and ansible["msg"] and modbox["msg"]
            unlike = run == "check" and key in scenario.get("unlike_in_check", ())
            if ansible.get(key) != modbox.get(key) and not unknown and not own_words and not unlike:
                different.append((side, run, key, ansible.get(key), modbox.get(key)))
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ansible", help="the bin folder of an environment with ansible-core")
    parser.add_argument("modules", help="the folder with modbox's modules")
    parser.add_argument("--runner", default="", help="a command that gets MODULE and ARGSFILE")
    parser.add_argument("--native", help="a folder with the same modules for this machine, which must do the same")
    parser.add_argument("--suffix", default="", help="how the modules' file names end, such as .wasm")
    parser.add_argument("--work", help="where to make the folders of the scenarios, for a runner that has to be allowed there")
    parser.add_argument("--collections", help="where `ansible_collections` lies, for modules that are in one")
    parser.add_argument("--only", help="only the scenarios of this module")
    parser.add_argument("--sample", type=int, help="how many scenarios of each module to take; all without it")
    parser.add_argument("--seed", default="0", help="which sample")
    options = parser.parse_args()
    modules = {"ping": PING, "stat": STAT, "lineinfile": LINEINFILE, "copy": COPY}
    if options.only not in modules:
        cases = importlib.import_module(f"modules.{options.only}")
        modules[options.only] = cases.SCENARIOS
        PROMISED[options.only] = cases.PROMISED
        FAILED[options.only] = getattr(cases, "FAILED", ())
        if options.only in ("uri", "get_url"):
            SERVED.add(options.only)
        IGNORED.update(getattr(cases, "IGNORED", []))
        if getattr(cases, "TREE", False):
            TREES.add(options.only)
        if hasattr(cases, "decode"):
            DECODERS[options.only] = cases.decode
        if not getattr(cases, "FOLDER_TIMES", True):
            FOLDERS_ARE_OLD.add(options.only)
        if getattr(cases, "PLAY", False):
            PLAYED.add(options.only)
        NAMES[options.only] = getattr(cases, "MODULE", f"ansible.modules.{options.only}")
    count = total = different = 0
    with tempfile.TemporaryDirectory(prefix="modbox-oracle-", dir=options.work) as scratch:
        for module, scenarios in modules.items():
            if options.only not in (None, module):
                continue
            total += len(scenarios)
            if options.sample is not None and options.sample < len(scenarios):
                taken = random.Random(options.seed).sample(range(len(scenarios)), options.sample)
                scenarios = [scenarios[number] for number in sorted(taken)]
            count += len(scenarios)
            for scenario, found in zip(scenarios, compare(module, scenarios, options, scratch)):
                different += bool(found)
                if found:
                    print("scenario", json.dumps(scenario))
                for side, run, key, ansible, ours in found:
                    print(f"  {side} {run} {key}\n    ansible {ansible!r}\n    ours    {ours!r}")
    print(f"{count} of {total} scenarios, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
