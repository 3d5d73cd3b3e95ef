"""Performs lists of calls of `os`, `shutil` and `tempfile` on small trees: the same text natively and, as the text of a module, in the
sandbox. What a call returned or raised is told as text, in which nothing depends on chance, on time or on the number of a file.
"""

import glob
import os
import re
import shutil
import stat
import tempfile

# Newer times are of the run.
RUN = 1_760_000_000
BY_CHANCE = re.compile(r"\b(pre|tmp)[a-z0-9_]{8}\b")


def outcome(call):
    """What a call returned or raised. Whether an error names a path as bytes depends on the release of Python."""
    try:
        found = call()
    except shutil.Error as error:
        found = ("raised", "shutil.Error", sorted((name, target) for name, target, _ in error.args[0]) if isinstance(error.args[0], list) else error.args)
    except OSError as error:
        names = [os.fsdecode(name) if isinstance(name, bytes) else name for name in (error.filename, error.filename2)]
        found = ("raised", type(error).__name__, None if error.errno is None else int(error.errno), *names)
    except (ValueError, NotImplementedError, TypeError, UnicodeError, RecursionError) as error:
        found = ("raised", type(error).__name__)
    return BY_CHANCE.sub("BY_CHANCE", ascii(found))


def status(found):
    """The attributes that are the same on both sides."""
    is_folder = stat.S_ISDIR(found.st_mode)
    time = found.st_mtime_ns if found.st_mtime < RUN else "now"
    # Names that come and go in a folder set its time and its size.
    return (oct(found.st_mode), found.st_uid, found.st_gid) + (() if is_folder else (found.st_nlink, found.st_size, time))


def entry(found):
    links = found.is_symlink()
    return (found.name, found.path, links, found.is_dir(follow_symlinks=False), found.is_file(follow_symlinks=False), status(found.stat(follow_symlinks=False)))


def scan(path):
    with os.scandir(path) as entries:
        return sorted(entry(found) for found in entries)


def walk(path):
    return [(top, sorted(folders), sorted(files)) for top, folders, files in sorted(os.walk(path))]


def umask(mask):
    os.umask(mask)


def chmod_new(path, mode):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, mode))
    return oct(os.stat(path).st_mode)


def made(path):
    """A temporary name: what it is, not which."""
    # Newer releases make it absolute.
    return os.path.abspath(os.path.dirname(path)), status(os.lstat(path))


def temporary(path, suffix):
    number, name = tempfile.mkstemp(dir=path, prefix="pre", suffix=suffix)
    try:
        os.write(number, b"temporary")
    finally:
        os.close(number)
    found = made(name)
    os.unlink(name)
    return found


def named(path, mode):
    with tempfile.NamedTemporaryFile(mode, dir=path) as file:
        file.write("text" if "b" not in mode else b"text")
        file.seek(1)
        return file.read(), made(file.name)


def nameless(path):
    # A file that never has a name, as Linux can make one, leaves its folder's time as it was, which `copystat` would pass on.
    tempfile._O_TMPFILE_WORKS = False
    with tempfile.TemporaryFile("w+", dir=path) as file:
        file.write("text")
        file.seek(0)
        return file.read()


def folder(path):
    with tempfile.TemporaryDirectory(dir=path) as name:
        os.mkdir(os.path.join(name, "inner"))
        open(os.path.join(name, "inner", "file"), "w").close()
        return made(name)


def within(path, name):
    """A relative path from a working directory."""
    before = os.getcwd()
    os.chdir(path)
    try:
        return os.getcwd(), sorted(os.listdir()), status(os.stat(name)), os.path.abspath(name)
    finally:
        os.chdir(before)


STEPS = {
    "read": lambda file, size: file.read(size), "readline": lambda file: file.readline(), "write": lambda file, text: file.write(text),
    "seek": lambda file, at, whence: file.seek(at, whence), "tell": lambda file: file.tell(), "flush": lambda file: file.flush(),
    "truncate": lambda file, size: file.truncate(size), "status": lambda file: status(os.fstat(file.fileno())),
    "mode": lambda file, mode: os.fchmod(file.fileno(), mode), "utime": lambda file, at: os.utime(file.fileno(), ns=(at, at)),
}
RAW_STEPS = {
    "read": os.read, "write": os.write, "seek": os.lseek, "pread": os.pread, "pwrite": os.pwrite, "truncate": os.ftruncate,
    "status": lambda number: status(os.fstat(number)), "mode": lambda number, mode: os.fchmod(number, mode), "sync": os.fsync,
}


def through(path, mode, buffering, steps):
    """Opens a file by `open`, and uses it. Before Python 3.13, text that was written and not flushed is not seen by a read."""
    with open(path, mode, buffering) as file:
        found = []
        for step, *arguments in steps:
            found.append(outcome(lambda: STEPS[step](file, *arguments)))
            if "+" in mode and "b" not in mode:
                file.flush()
        return found


def raw(path, flags, mode, steps):
    """Opens a file by `os.open`, and uses it."""
    number = os.open(path, sum(getattr(os, flag) for flag in flags), mode)
    try:
        return [outcome(lambda: RAW_STEPS[step](number, *arguments)) for step, *arguments in steps]
    finally:
        os.close(number)


CALLS = {
    "stat": lambda path: status(os.stat(path)), "lstat": lambda path: status(os.lstat(path)), "listdir": lambda path: sorted(os.listdir(path)),
    "scandir": scan, "walk": walk, "readlink": os.readlink, "access": lambda path, mode: os.access(path, mode),
    "looks": lambda path: (os.path.exists(path), os.path.lexists(path), os.path.isdir(path), os.path.isfile(path), os.path.islink(path)),
    "realpath": os.path.realpath, "glob": lambda path: sorted(glob.glob(path + "/*")), "within": within,
    "mkdir": os.mkdir, "makedirs": lambda path, mode, exist_ok: os.makedirs(path, mode, exist_ok), "rmdir": os.rmdir, "unlink": os.unlink,
    "rename": os.rename, "replace": os.replace, "link": os.link, "symlink": os.symlink, "chmod": os.chmod, "truncate": os.truncate,
    "chown": lambda path, follow: os.chown(path, os.getuid(), os.getgid(), follow_symlinks=follow), "umask": umask, "new": chmod_new,
    "utime": lambda path, at, follow: os.utime(path, ns=(at, at), follow_symlinks=follow),
    "seconds": lambda path, at: os.utime(path, (at, at)),
    "copy": shutil.copy, "copy2": shutil.copy2, "copymode": shutil.copymode, "move": shutil.move, "rmtree": shutil.rmtree,
    "copyfile": lambda src, dst, follow: shutil.copyfile(src, dst, follow_symlinks=follow),
    "copystat": lambda src, dst, follow: shutil.copystat(src, dst, follow_symlinks=follow),
    "copytree": lambda src, dst: shutil.copytree(src, dst, symlinks=True),
    "mkstemp": temporary, "mkdtemp": lambda path: made(tempfile.mkdtemp(dir=path, prefix="pre")), "named": named, "nameless": nameless, "folder": folder,
    "open": through, "os.open": raw,
}


def given(value, root):
    """An argument. `ROOT` is the folder of the tree, and `b:` begins a path in bytes."""
    if isinstance(value, list):
        return [given(item, root) for item in value]
    if not isinstance(value, str):
        return value
    if value.startswith("bytes:"):
        return os.fsencode(given(value[6:], root))
    return root + value[4:] if value == "ROOT" or value.startswith("ROOT/") else value


def perform(root, calls, may=None):
    """Performs calls, and returns their outcomes. `may` tells of each whether it is performed; the outcome is `None` otherwise."""
    os.umask(0o022)
    found = []
    for name, *arguments in calls:
        arguments = given(arguments, root)
        is_performed = may is None or may(name, arguments)
        found.append(outcome(lambda: CALLS[name](*arguments)).replace(root, "ROOT") if is_performed else None)
    os.umask(0o022)
    return found
