"""Random lists of calls on the random trees of the twin of tasks. The same seed gives the same ones."""

from twin_modules import generate as tasks

MODES = [0o644, 0o600, 0o755, 0o700, 0o400, 0o666, 0o777, 0o000, 0o751]
TIMES = [0, 1_600_000_000_000_000_000, 1_500_000_000_123_456_789, -300_000_000_500_000_000, -1]
OPEN_MODES = ["r", "w", "a", "x", "r+", "w+", "a+", "x+", "rb", "wb", "ab", "r+b", "w+b", "a+b", "rb+"]
FLAGS = [["O_RDONLY"], ["O_WRONLY"], ["O_RDWR"], ["O_RDWR", "O_APPEND"], ["O_WRONLY", "O_TRUNC"], ["O_RDWR", "O_CREAT"], ["O_RDWR", "O_CREAT", "O_EXCL"],
         ["O_WRONLY", "O_CREAT", "O_TRUNC"], ["O_RDONLY", "O_NOFOLLOW"], ["O_RDONLY", "O_DIRECTORY"], ["O_RDONLY", "O_CREAT"]]


class Generator(tasks.Generator):
    """Cases of one seed."""

    def case(self):
        """A tree and calls on it."""
        tree = self.tree()
        for entry in tree:
            # A name that is not UTF-8 is one of the things to compare.
            if entry["kind"] != "hard" and self.rarely(12) and not self.is_named(tree, entry["path"]):
                entry["path"] = entry["path"].rpartition("/")[0] + "/caf\udce9" if "/" in entry["path"] else "caf\udce9"
        paths = [entry["path"] for entry in tree]
        tree = [entry for at, entry in enumerate(tree) if entry["path"] not in paths[:at]]
        return {"tree": tree, "calls": [self.call(tree) for _ in range(self.random.randrange(2, 9))]}

    def is_named(self, tree, path):
        return any(entry["path"].startswith(path + "/") or entry.get("to") == path for entry in tree)

    def place(self, tree, new=4):
        """A path: of an entry, of nothing, in the spellings that a path can have."""
        if self.rarely(60):
            return ""
        names = [entry["path"] for entry in tree] or ["a"]
        name = self.pick(names) if self.random.randrange(new) else self.pick(["new", "new/deep", "n\udcff", "gone"])
        path = "ROOT/" + name
        if self.rarely(6):
            path += "/" + self.pick(["x", "..", "../" + self.pick(names), "new", "a"])
        if self.rarely(8):
            path = path.replace("ROOT/", "ROOT/" + self.pick(["./", "/", self.pick(names) + "/../"]), 1)
        if self.rarely(8):
            path += self.pick(["/", "/", "//", "/."])
        return "bytes:" + path if self.rarely(10) else path

    def call(self, tree):
        name = self.pick(list(CALLS))
        return [name, *CALLS[name](self, tree)]

    def mode(self):
        return self.pick(MODES) if self.random.randrange(12) else self.pick(tasks.SPECIAL_MODES)

    def folder(self, tree):
        if not self.rarely(4):
            folders = [entry["path"] for entry in tree if entry["kind"] == "folder"]
            return "ROOT/" + self.pick(folders) if folders else "ROOT"
        return self.place(tree)

    def two(self, tree):
        """Two paths of one type."""
        first, second = self.place(tree, 8), self.place(tree, 2)
        return [path.removeprefix("bytes:") for path in (first, second)]

    def size(self):
        return self.pick([0, 1, 2, 3, 5, 100])

    def steps(self, of, data):
        return [self.step(self.pick(of), data) for _ in range(self.random.randrange(1, 7))]

    def step(self, name, data):
        arguments = {
            "read": lambda: [self.pick([1, 2, 3, 100])], "write": lambda: [self.pick(data)], "truncate": lambda: [self.size()],
            "seek": lambda: self.pick([[0, 0], [2, 0], [1, 0], [0, 2], [0, 1]]), "pread": lambda: [self.size(), self.size()],
            "pwrite": lambda: [self.pick(data), self.size()], "mode": lambda: [self.pick(MODES[:7])], "utime": lambda: [self.pick(TIMES)],
        }
        return [name, *arguments.get(name, list)()]

    def opened(self, tree):
        mode = self.pick(OPEN_MODES)
        is_text = "b" not in mode
        steps = self.steps(["read", "readline", "write", "write", "seek", "tell", "flush", "truncate", "status", "mode", "utime"], DATA[is_text])
        return [self.place(tree), mode, self.pick([-1, -1, 1 if is_text else 0, 4096]), steps]

    def raw(self, tree):
        steps = self.steps(["read", "read", "write", "write", "seek", "pread", "pwrite", "truncate", "status", "mode", "sync"], DATA[False])
        return [self.place(tree), self.pick(FLAGS), self.mode(), steps]


# What is written, by whether it is text.
DATA = {True: ["x", "longer text\n", "", "ü\n"], False: ["bytes:x", "bytes:longer\n", "bytes:"]}


def path(generator, tree):
    return [generator.place(tree)]


def path_and(*others):
    return lambda generator, tree: [generator.place(tree), *(other(generator) for other in others)]


def two(generator, tree):
    return generator.two(tree)


def flag(generator):
    return bool(generator.rarely(2))


def mode(generator):
    return generator.mode()


CALLS = {
    **{name: path for name in ("stat", "lstat", "listdir", "scandir", "walk", "readlink", "looks", "realpath", "glob", "rmdir", "unlink", "rmtree")},
    **{name: path_and(mode) for name in ("mkdir", "chmod", "new")},
    **{name: two for name in ("rename", "replace", "link", "copy", "copy2", "copymode", "move", "copytree")},
    "access": path_and(lambda generator: generator.random.randrange(8)), "makedirs": path_and(mode, flag), "chown": path_and(flag),
    "symlink": lambda generator, tree: [generator.pick(["gone", "a", "../a", "n\udcff", "ROOT/a", "."]), generator.place(tree, 2)],
    "truncate": path_and(Generator.size), "umask": lambda generator, tree: [generator.pick([0o022, 0o077, 0o027, 0])],
    "utime": path_and(lambda generator: generator.pick(TIMES), flag), "seconds": path_and(lambda generator: generator.pick([-1.5, 0.25, 1e9, -2.000000001, 7])),
    "copyfile": lambda generator, tree: generator.two(tree) + [flag(generator)], "copystat": lambda generator, tree: generator.two(tree) + [flag(generator)],
    **{name: lambda generator, tree: [generator.folder(tree)] for name in ("mkdtemp", "nameless", "folder")},
    "mkstemp": lambda generator, tree: [generator.folder(tree).removeprefix("bytes:"), generator.pick(["", ".s"])],
    "named": lambda generator, tree: [generator.folder(tree).removeprefix("bytes:"), generator.pick(["w+", "w+b", "a+"])],
    "within": lambda generator, tree: [generator.folder(tree).removeprefix("bytes:"), generator.pick([".", "a", "../a", "b"])],
    "open": Generator.opened, "os.open": Generator.raw,
}
