"""Small trees of the twin test: what is made before a task, and what is seen after it.

An entry has a path below the tree's root and a kind: `folder`, `file` with bytes (as Latin-1), `link` with what it says, `hard` with
the name of another entry. Names that are not UTF-8 have Python's lone surrogates. `ROOT` in links and arguments stands for the root.
"""

import hashlib
import os
import re
import shutil
import stat

# What a test makes is older than this; newer times are of the run.
RUN = 1_760_000_000
BACKUP = re.compile(r"\.\d+\.\d{4}-\d\d-\d\d@\d\d:\d\d:\d\d~")
# The name under which `file` makes a link before it renames it.
NEW_LINK = re.compile(r"(^|/)\.\d+\.\d+\.\d+\.tmp")


def make(root, tree, user=None):
    """Makes a tree anew, for a user."""
    shutil.rmtree(root, ignore_errors=True)
    os.mkdir(root)
    os.chmod(root, 0o755)
    for entry in tree:
        path = os.path.join(root, entry["path"])
        if entry["kind"] == "folder":
            os.mkdir(path)
        elif entry["kind"] == "file":
            with open(path, "wb") as file:
                file.write(entry["bytes"].encode("latin-1"))
        elif entry["kind"] == "hard":
            os.link(os.path.join(root, entry["to"]), path, follow_symlinks=False)
        else:
            os.symlink(entry["to"].replace("ROOT", root), path)
    for entry in reversed(tree):  # folders after what is in them
        path = os.path.join(root, entry["path"])
        if entry["kind"] in ("file", "folder"):
            os.chmod(path, entry.get("mode", 0o755 if entry["kind"] == "folder" else 0o644))
        if entry["kind"] != "hard":
            time = entry.get("time", 1_700_000_000_250_000_000)
            os.utime(path, ns=(time, time), follow_symlinks=False)
    if user is not None:
        for path in [root, *(os.path.join(root, entry["path"]) for entry in tree)]:
            os.chown(path, user, user, follow_symlinks=False)
        for entry in reversed(tree):
            if entry.get("mode", 0) & 0o6000:  # a new owner takes them away
                os.chmod(os.path.join(root, entry["path"]), entry["mode"])


def without_chance(text):
    """A name or a message without what differs from run to run."""
    return NEW_LINK.sub(r"\1.NEW.tmp", BACKUP.sub(".BACKUP~", text))


def seen(folder, decode):
    """All that is below a folder: kinds, modes, owners, contents, times of files, and which names are one file."""
    found, names = {}, {}
    for where, folders, files in os.walk(folder):
        for path in (os.path.join(where, name) for name in folders + files):
            status = os.lstat(path)
            shown = without_chance(os.path.relpath(path, folder))
            what = {"mode": oct(stat.S_IMODE(status.st_mode)), "owner": (status.st_uid, status.st_gid)}
            if stat.S_ISLNK(status.st_mode):
                what = {"link": os.readlink(path), "owner": what["owner"]}
            elif stat.S_ISDIR(status.st_mode):
                what["folder"] = True  # every name that comes and goes in it changes its time
            else:
                with open(path, "rb") as file:
                    contents = file.read()
                what["time"] = status.st_mtime_ns if status.st_mtime < RUN else "now"
                what["bytes"] = decode(path, contents)
                names.setdefault((status.st_dev, status.st_ino), []).append(shown)
            found[shown] = what
    for same in names.values():
        for name in same:
            found[name]["names"] = sorted(same)
    return found


def digest(contents):
    """Contents to compare and to show: short ones as they are."""
    return repr(contents) if len(contents) < 300 else hashlib.sha256(contents).hexdigest()
