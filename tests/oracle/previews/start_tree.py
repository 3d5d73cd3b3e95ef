"""The tree that every case starts with, and the folders that stand in for those of the machine.

All that is made here is the same each time, with old times, so that a change of a time is seen.
"""

import gzip
import io
import os
import stat
import subprocess
import tarfile
import zipfile

OLD = 1_600_000_000
KEY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python/python_modules/key.asc")

FILES = {
    "file": ("some text\n", 0o644),
    "lines": ("aaa\nbbb\nccc\n", 0o644),
    "secret": ("password\n", 0o600),
    "read-only": ("fixed\n", 0o444),
    "empty": ("", 0o640),
    "program": ("#!/bin/sh\necho written > \"$1\"\n", 0o755),
    "settings.ini": ("[main]\na = 1\nb = 2\n\n[other]\nc = 3\n", 0o644),
    "blocks": ("first\n# BEGIN ANSIBLE MANAGED BLOCK\nold\n# END ANSIBLE MANAGED BLOCK\nlast\n", 0o644),
    "template.j2": ("hello {{ name }}\n", 0o644),
    "hosts": ("example.net ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE2PRs0LwmzVjOVQCcSiHKjOUHXEMqEx+Jqf0pmHyxzq\n", 0o644),
    "fstab": ("/dev/none /no/such ext4 defaults 0 0\n", 0o644),
    "parts/10-first": ("one\n", 0o644),
    "parts/20-second": ("two\n", 0o644),
    "dir/a": ("a", 0o644),
    "dir/b": ("b", 0o600),
    "dir/deep/x": ("x", 0o644),
    "dir/deep/y": ("y" * 5000, 0o644),
    "dir/ü name": ("ü", 0o644),
    "repos/old.repo": ("[old]\nname = old\nbaseurl = https://example.org/old\n", 0o644),
    "jobs/1.2": ('{"changed": true, "finished": 1, "ansible_job_id": "1.2"}\n', 0o600),
    "odd/plain": ("plain", 0o644),
}


def write(path, content, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    os.chmod(path, mode)


def archive():
    """A compressed archive with a folder, a link and a hard link."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, kind, detail in [
            ("packed", tarfile.DIRTYPE, ""),
            ("packed/one", tarfile.REGTYPE, "1\n"),
            ("packed/two", tarfile.REGTYPE, "22\n"),
            ("packed/link", tarfile.SYMTYPE, "one"),
            ("packed/hard", tarfile.LNKTYPE, "packed/one"),
        ]:
            member = tarfile.TarInfo(name)
            member.type, member.mtime = kind, OLD
            member.mode = 0o750 if kind == tarfile.DIRTYPE else 0o640
            member.uid, member.gid = os.geteuid(), os.getegid()
            if kind == tarfile.REGTYPE:
                member.size = len(detail)
                tar.addfile(member, io.BytesIO(detail.encode()))
            else:
                member.linkname = detail
                tar.addfile(member)
    return gzip.compress(packed.getvalue(), mtime=OLD)


def zipped():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive_:
        for name, content in (("zipped/one", "1"), ("zipped/two", "2")):
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = (stat.S_IFREG | 0o640) << 16
            archive_.writestr(info, content)
    return packed.getvalue()


def git(tree):
    """A repository with one commit."""
    dates = {f"GIT_{who}_DATE": "2026-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}
    words = ["-c", "user.name=A", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "first"]
    for command in (["init", "-q", "-b", "main"], words):
        place = os.path.join(tree, "origin")
        os.makedirs(place, exist_ok=True)
        subprocess.run(["git", *command], cwd=place, env={**os.environ, **dates}, check=True)


def pip(tree):
    """A program with the commands of pip that its module uses, which installs one line."""
    script = """#!/bin/sh
case "$*" in
    *freeze*|*list*) cat "${0%/*}/installed" 2>/dev/null; exit 0 ;;
    *install*) echo demo==1.0 >> "${0%/*}/installed"; echo Successfully installed demo-1.0 ;;
esac
"""
    write(os.path.join(tree, "bin/pip"), script, 0o755)


def outside(tree):
    """Another name of a file, outside the tree."""
    os.link(os.path.join(tree, "file"), os.path.join(os.path.dirname(tree), "another name"))


def foreign(tree):
    """Entries that belong to root: see `give`."""
    write(os.path.join(tree, "dir/foreign"), "of root\n")
    os.mkdir(os.path.join(tree, "foreign-dir"))


def hidden(tree):
    """A file of root's that others cannot read."""
    write(os.path.join(tree, "dir/hidden-foreign"), "of root\n", 0o600)


def make_plain(tree):
    """Makes the tree one of which an ordinary user has an overlay: no second names, and more than is copied in a moment."""
    os.unlink(os.path.join(tree, "dir/deep/second name of a"))
    os.unlink(os.path.join(tree, "linked lines"))
    with open(os.path.join(tree, "odd", "large"), "wb") as file:
        file.truncate(5 << 20)


EXTRAS = {"git": git, "pip": pip, "outside": outside, "foreign": foreign, "hidden": hidden}


def make(tree, extra, plain=False):
    """Makes the tree."""
    os.makedirs(tree)
    for name, (content, mode) in FILES.items():
        write(os.path.join(tree, name), content, mode)
    write(os.path.join(tree, "packed.tar.gz"), archive())
    write(os.path.join(tree, "packed.zip"), zipped())
    with open(KEY, "rb") as key:
        write(os.path.join(tree, "key.asc"), key.read())
    write(os.path.join(tree, "binary"), bytes(range(256)) * 12)
    write(os.path.join(os.fsencode(tree), b"odd", b"not\n\xff text"), "odd")
    os.link(os.path.join(tree, "dir/a"), os.path.join(tree, "dir/deep/second name of a"))
    os.link(os.path.join(tree, "lines"), os.path.join(tree, "linked lines"))
    for name, target in (("link", "file"), ("dangling", "no/such"), ("link-to-dir", "dir"), ("dir/deep/up", "../a")):
        os.symlink(target, os.path.join(tree, name))
    os.mkfifo(os.path.join(tree, "fifo"), 0o640)
    os.setxattr(os.path.join(tree, "file"), "user.x", b"value")
    os.setxattr(os.path.join(tree, "dir"), "user.x", b"of a folder")
    for name, mode in (("dir", 0o750), ("dir/deep", 0o700), ("odd", 0o1777), ("repos", 0o2755)):
        os.chmod(os.path.join(tree, name), mode)
    if plain:
        make_plain(tree)
    if extra:
        EXTRAS[extra](tree)
    settle(tree)


def settle(tree):
    """Sets old times, the deepest first."""
    for folder, folders, files in os.walk(os.fsencode(tree), topdown=False):
        for name in folders + files:
            os.utime(os.path.join(folder, name), (OLD, OLD), follow_symlinks=False)
    os.utime(tree, (OLD, OLD))


def give(tree, user):
    """Gives a tree to a user, except what is called `foreign`. The set-group bit, which that clears, is set again."""
    for folder, folders, files in os.walk(os.fsencode(tree)):
        for name in folders + files:
            if b"foreign" in name:
                continue
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            os.chown(path, user, user, follow_symlinks=False)
            if not stat.S_ISLNK(mode):
                os.chmod(path, stat.S_IMODE(mode))
    os.chown(tree, user, user)
    settle(tree)
