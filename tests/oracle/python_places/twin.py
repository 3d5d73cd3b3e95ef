"""The folder that a module finds, made anew for each run, and its state after the run."""

import gzip
import os
import shutil
import stat
import subprocess

# A line of a file of known hosts.
HOST_KEY = "h.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"

# Times that no run changes by itself.
THEN = 1700000000


def make(folder):
    """Makes the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chmod(folder, 0o755)
    files = {
        "a.txt": ("one\ntwo\nthree\n", 0o644), "b.conf": ("[x]\nk = 1\n\n[y]\nz=2\n", 0o600),
        "secret.txt": ("hidden\n", 0o640), "d/1.part": ("p1\n", 0o644), "d/2.part": ("p2", 0o644),
        "d/sub/3.log": ("l" * 3000, 0o755), "x.sh": ("#!/bin/sh\necho hi $1; echo err >&2; exit 3\n", 0o755),
        "tree/f1": ("f1", 0o600), "tree/s/f2": ("f2", 0o711), "if": ("auto eth0\niface eth0 inet dhcp\n  mtu 1500\n", 0o644),
        "x.csv": ("a,b\n1,2\n3,4\n", 0o644), "limits": ("# x\n", 0o644), "crypttab": ("", 0o644), "fstab": ("", 0o644),
        "known": (HOST_KEY + "\n" + HOST_KEY.replace("h.example", "other.example") + "\n", 0o644),
    }
    for name, (text, mode) in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        os.utime(path, (THEN, THEN))
    os.chmod(folder + "/tree/s", 0o750)
    for name, target in {"rel": "a.txt", "abs": folder + "/a.txt", "broken": "nowhere", "absdir": folder + "/d",
                         "d/up": "../a.txt"}.items():
        os.symlink(target, os.path.join(folder, name))
    os.link(folder + "/a.txt", folder + "/hard0")
    packed = subprocess.run(["tar", "c", "--mtime=@%d" % THEN, "tree"], cwd=folder, check=True, capture_output=True)
    with open(folder + "/x.tgz", "wb") as file:
        file.write(gzip.compress(packed.stdout, mtime=THEN))
    for path, _, _ in os.walk(folder):
        os.utime(path, (THEN, THEN))


def state(folder):
    """Returns what is in the folder: modes, owners, links, contents, and times that were set."""
    found = {}
    for path, folders, files in os.walk(folder):
        for name in [*folders, *files, "."]:
            full = os.path.join(path, name)
            about = os.lstat(full)
            entry = [oct(about.st_mode), about.st_uid, about.st_gid]
            if stat.S_ISLNK(about.st_mode):
                entry.append(os.readlink(full))
            elif stat.S_ISREG(about.st_mode):
                with open(full, "rb") as file:
                    entry += [file.read(), about.st_nlink]
            if about.st_mtime <= THEN:
                entry.append(int(about.st_mtime))
            found[os.path.relpath(full, folder)] = entry
    return found
