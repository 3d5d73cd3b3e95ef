"""Scenarios of `file`.

Left out on purpose: `state=hard` with a relative link as `src`. The original looks for what the link says in the folder that it was
started in; modbox looks beside the link. And `state=hard` of a link itself, a second time: the original leaves a file of its own behind.
"""

import os

PROMISED = ["path", "dest", "src", "state", "uid", "gid", "owner", "group", "mode", "appears_binary"]
# Differences are of states, modes and times, and links count.
TREE = True

OLD = "202001020304.05"
FOLDER = {"f/a": "a\n", "f/b": "b\n", "f/d/c": "c\n"}


def case(files=None, links=None, names=None, folders=(), modes=None, at="ROOT/f", own_words=False, **arguments):
    return {
        "files": files or {},
        "folders": folders,
        "links": links or {},
        "names": names or {},
        "modes": modes or {},
        "path": None,
        "own_words": own_words,
        "arguments": arguments if at is None else {"path": at, **arguments},
    }


FILE = {"f": "hi\n"}

SCENARIOS = [
    # No state, and state=file.
    case(FILE),
    case(FILE, state="file"),
    case(FILE, mode="0600"),
    case(FILE, modes={"f": 0o600}, mode="u=rw,g=r,o="),
    case(FILE, mode="u+x,go-r", state="file"),
    case(FILE, mode="rw"),
    case(FILE, owner=str(os.getuid()), group=str(os.getgid())),
    case(FILE, owner="no-such-user"),
    case(FILE, group="no-such-group"),
    case(FILE, modification_time=OLD),
    case(FILE, access_time=OLD, modification_time="preserve"),
    case(FILE, access_time=OLD, modification_time=OLD),
    case(FILE, modification_time="now"),
    case(FILE, modification_time="2020-01-02", modification_time_format="%Y-%m-%d"),
    case(FILE, modification_time="2 Jan 2020 03:04 PM", modification_time_format="%d %b %Y %I:%M %p"),
    case(FILE, modification_time="2020"),
    case(FILE, modification_time="20200230", modification_time_format="%Y%m%d"),
    case(FILE, modification_time="x", modification_time_format="%Q"),
    case(),
    case(state="file"),
    case(FILE, state="gone"),
    case(FILE, unknown=1),
    case(at=None, state="file"),
    case(FILE, src="x"),
    case(FILE, recurse=True, state="file"),
    case(folders=["f"], state="file"),
    case(FILE, at=None, dest="ROOT/f", mode="0640"),
    case(FILE, _diff_peek=True),
    case({"f": "a\0b"}, _diff_peek=True),
    case({"g": "hi\n"}, {"f": "g"}, state="file", mode="0600"),
    case({"g": "hi\n"}, {"f": "ROOT/g"}, state="file", mode="0600"),
    case({"g": "hi\n"}, {"f": "g"}, state="file", mode="0600", follow=False),
    case({"g": "hi\n"}, {"f": "g"}, mode="0600"),
    case({"g": "hi\n"}, {"f": "g"}, mode="0600", follow=False),
    case(links={"f": "g"}, state="file"),
    case({"g": "hi\n"}, names={"f": "g"}, state="file", mode="0600"),
    case({"f/x": "hi\n"}, _original_basename="x", mode="0600"),
    # state=touch
    case(state="touch"),
    case(state="touch", mode="0600"),
    case(state="touch", mode="bad"),
    case(FILE, state="touch"),
    case(FILE, state="touch", access_time="preserve", modification_time="preserve"),
    case(FILE, state="touch", access_time="preserve", modification_time=OLD, mode="0604"),
    case(FILE, state="touch", access_time=OLD),
    case(folders=["f"], state="touch"),
    case({"g": "hi\n"}, {"f": "g"}, state="touch"),
    case({"g": "hi\n"}, {"f": "g"}, state="touch", modification_time=OLD, access_time=OLD),
    case(at="ROOT/none/f", state="touch"),
    # state=directory
    case(state="directory"),
    case(state="directory", mode="0700"),
    case(at="ROOT/f/g/h", state="directory", mode="0750"),
    case(at="ROOT/f/g/h/", state="directory"),
    case(recurse=True),
    case(folders=["f"], state="directory"),
    case(folders=["f"], mode="0711"),
    case(folders=["f"], state="directory", modification_time=OLD, access_time=OLD),
    case(FOLDER, state="directory", recurse=True, mode="u=rwX,g=rX,o="),
    case(FOLDER, state="directory", recurse=True, mode="0700"),
    case(FOLDER, state="directory", recurse=True, modification_time=OLD, access_time="preserve"),
    case({**FOLDER, "out/x": "x\n"}, {"f/l": "../out", "f/m": "a", "f/n": "gone"}, state="directory", recurse=True, mode="0700"),
    case({**FOLDER, "out/x": "x\n"}, {"f/l": "../out"}, state="directory", recurse=True, mode="0700", follow=False),
    case({**FOLDER, "out/x": "x\n"}, {"f/l": "ROOT/out"}, state="directory", recurse=True, mode="0700"),
    case(FILE, state="directory"),
    case(FILE, at="ROOT/f/g", state="directory", own_words=True),
    case({"g/x": "x\n"}, {"f": "g"}, state="directory", mode="0700"),
    case({"g/x": "x\n"}, {"f": "ROOT/g"}, state="directory", mode="0700"),
    case({"g/x": "x\n"}, {"f": "g"}, state="directory", follow=False),
    case(links={"f": "g"}, state="directory"),
    # state=absent
    case(state="absent"),
    case(FILE, state="absent"),
    case(FOLDER, state="absent"),
    case({**FOLDER, "g/x": "x\n"}, {"f/l": "../g", "f/m": "ROOT/g/x"}, state="absent"),
    case({"g": "hi\n"}, {"f": "g"}, state="absent"),
    case({"g": "hi\n"}, {"f": "ROOT/g"}, state="absent"),
    case(links={"f": "/nowhere/at/all"}, state="absent"),
    case(links={"f": "gone"}, state="absent"),
    case({"g": "hi\n"}, names={"f": "g"}, state="absent"),
    case({"f/x": ""}, modes={"f/x": 0}, state="absent"),
    case(FILE, at="ROOT/f/g", state="absent"),
    # state=link
    case({"g": "hi\n"}, state="link", src="g"),
    case({"g": "hi\n"}, state="link", src="ROOT/g"),
    case({"g": "hi\n"}, state="link", src="g", mode="0600"),
    case({"g": "hi\n"}, state="link", src="g", mode="0600", follow=False),
    case({"g": "hi\n"}, {"f": "g"}, state="link", src="g"),
    case({"g": "hi\n", "h": "h\n"}, {"f": "g"}, state="link", src="h"),
    case({"g": "hi\n", "h": "h\n"}, {"f": "g"}, state="link", src="ROOT/h"),
    case({"g": "hi\n"}, {"f": "ROOT/g"}, state="link", src="ROOT/g"),
    case({"g": "hi\n"}, {"f": "g"}, state="link"),
    case({"g": "hi\n"}, {"f": "g"}, state="link", follow=False),
    case(state="link"),
    case(state="link", src="gone"),
    case(state="link", src="gone", force=True),
    case(state="link", src="gone", force=True, follow=False),
    case({"f": "old\n", "g": "hi\n"}, state="link", src="g"),
    case({"f": "old\n", "g": "hi\n"}, state="link", src="g", force=True),
    case({"g": "hi\n"}, folders=["f"], state="link", src="g"),
    case({"g": "hi\n"}, folders=["f"], state="link", src="../g", force=True),
    case({"f/x": "x\n", "g": "hi\n"}, state="link", src="../g", force=True),
    case({"g/x": "hi\n"}, state="link", src="g", modification_time=OLD),
    # state=hard
    case({"g": "hi\n"}, state="hard", src="ROOT/g"),
    case({"g": "hi\n"}, state="hard", src="ROOT/g", mode="0600"),
    case({"g": "hi\n"}, names={"f": "g"}, state="hard", src="ROOT/g"),
    case({"g": "hi\n", "h": "h\n"}, names={"f": "g"}, state="hard", src="ROOT/h"),
    case({"g": "hi\n", "h": "h\n"}, names={"f": "g"}, state="hard", src="ROOT/h", force=True),
    case({"g": "hi\n"}, names={"f": "g"}, state="hard"),
    case({"f": "old\n", "g": "hi\n"}, state="hard", src="ROOT/g"),
    case({"f": "old\n", "g": "hi\n"}, state="hard", src="ROOT/g", force=True),
    case({"g": "hi\n"}, {"f": "g"}, state="hard", src="ROOT/g"),
    case(state="hard"),
    case(state="hard", src="ROOT/gone"),
    case({"g": "hi\n"}, {"l": "ROOT/g"}, state="hard", src="ROOT/l"),
]
