#!/usr/bin/python3
# WANT_JSON
"""A module that makes random edits of a tree: which ones follows from its seed and from what is in the tree.

Edits that fail are passed over. What it makes has fixed contents, so that two runs in equal trees leave equal ones.
"""

import json
import os
import random
import stat
import sys


def entries(tree):
    """All paths below the tree, sorted, with whether each is a folder."""
    found = []
    for folder, folders, files in os.walk(tree):
        found += [(os.path.join(folder, name), False) for name in files]
        for name in folders:
            path = os.path.join(folder, name)
            found.append((path, not os.path.islink(path)))
    return sorted(found)


class Editor:
    """One random edit after another."""

    def __init__(self, tree, seed):
        self.tree, self.random = tree, random.Random(seed)

    def any(self, folder=None):
        """A path, if asked for of a folder or of none. The tree itself counts as a folder."""
        paths = [path for path, is_folder in entries(self.tree) if folder is None or is_folder == folder]
        if folder:
            paths.append(self.tree)
        return self.random.choice(paths or [self.tree])

    def new(self):
        return os.path.join(self.any(folder=True), "n%d" % self.random.randrange(6))

    def write(self):
        path = self.any(folder=False)
        if stat.S_ISREG(os.lstat(path).st_mode):
            with open(path, self.random.choice(["w", "a", "r+"])) as file:
                file.write("written %d\n" % self.random.randrange(3))

    def create(self):
        with open(self.new(), "x") as file:
            file.write("new\n")

    def make_folder(self):
        os.mkdir(self.new())

    def remove(self):
        path = self.any()
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        else:
            os.unlink(path)

    def rename(self):
        os.rename(self.any(), self.random.choice([self.new(), self.any()]))

    def link(self):
        os.link(self.any(folder=False), self.new(), follow_symlinks=False)

    def point(self):
        os.symlink(self.random.choice(["file", "../x", "/etc"]), self.new())

    def replace(self):
        """As editors do it: a new file takes the place of an old one."""
        path = self.any(folder=False)
        with open(path + ".tmp", "x") as file:
            file.write("replaced\n")
        os.rename(path + ".tmp", path)

    def mode(self):
        path = self.any()
        if not os.path.islink(path):
            os.chmod(path, self.random.choice([0o700, 0o755, 0o744]))

    def attribute(self):
        os.setxattr(self.any(), "user.y", b"1", follow_symlinks=False)

    def time(self):
        os.utime(self.any(), (1_500_000_000, 1_500_000_000), follow_symlinks=False)

    def empty(self):
        """Removes a folder with all in it, and makes it anew."""
        path = self.any(folder=True)
        if path != self.tree:
            for folder, folders, files in os.walk(path, topdown=False):
                for name in files:
                    os.unlink(os.path.join(folder, name))
                for name in folders:
                    inner = os.path.join(folder, name)
                    os.unlink(inner) if os.path.islink(inner) else os.rmdir(inner)
            os.rmdir(path)
            os.mkdir(path)

    def edit(self):
        edits = [self.write, self.create, self.make_folder, self.remove, self.rename, self.rename, self.link, self.point]
        edits += [self.replace, self.mode, self.attribute, self.time, self.empty]
        try:
            self.random.choice(edits)()
        except OSError:
            pass


def main():
    with open(sys.argv[1]) as file:
        args = json.load(file)
    editor = Editor(os.fsencode(args["tree"]).decode(), args["seed"])
    for _ in range(args["edits"]):
        editor.edit()
    print(json.dumps({"changed": True}))


if __name__ == "__main__":
    main()
