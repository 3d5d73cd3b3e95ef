"""The plays that are compared, and the place in which both sides run them."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import web_server

HERE = os.path.dirname(os.path.abspath(__file__))
# Variables that the plays and their modules may see.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "CANARY": "sings"}
# Programs that the plays start.
PROGRAMS = ["bash", "cat", "echo", "env", "false", "grep", "id", "ls", "printf", "pwd", "python3", "sh", "test", "touch", "tr", "true", "wc"]
RUN = [word for name in PROGRAMS for word in ("--allow-run", name, "--allow-run", f"{name} *", "--allow-run", f"/bin/{name}", "--allow-run", f"/bin/{name} *")]


class Play:
    """A play, and the options that it is run with."""

    def __init__(self, folder):
        self.folder = folder
        self.name = os.path.basename(os.path.normpath(folder))
        self.options, self.tagged, self.grants, self.times = [], [], [], 2
        with open(os.path.join(folder, "play.yml")) as file:
            for line in file:
                found = re.match(r"# (options|tagged|grants): (.*)", line)
                if not found:
                    break
                words = shlex.split(found[2])
                if found[1] == "tagged":
                    self.tagged.append(words)
                else:
                    getattr(self, found[1]).extend(words)

    def modes(self, whole):
        """Names of modes, and the options of the runs that follow each other in one place."""
        yield "plain", [[], []]
        yield "check and diff", [["--check", "--diff"]]
        if whole:
            yield "check", [["--check"]]
            for tags in self.tagged:
                yield " ".join(tags), [tags]


class Place:
    """The folder of the plays, which is the same for both sides."""

    def __init__(self, work, modbox):
        self.work, self.modbox = work, modbox
        self.folder = os.path.join(work, "play")
        self.home = os.path.join(work, "home")
        self.server, self.other = web_server.servers()
        os.makedirs(self.home, exist_ok=True)

    def prepare(self, play):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(play.folder, self.folder, symlinks=True)
        for name in os.listdir(os.path.join(HERE, "shared")):
            shutil.copy(os.path.join(HERE, "shared", name), self.folder)
        # Both sides find the same times.
        for folder, folders, files in os.walk(self.folder):
            for name in folders + files:
                os.utime(os.path.join(folder, name), (1_700_000_000, 1_700_000_000), follow_symlinks=False)

    def options(self, play, options):
        return [*play.options, *options, "-e", f"server={self.server}", "play.yml"]

    def modbox_run(self, play, options, prefer, output):
        command = [self.modbox, "play", "--output", output, "--prefer", prefer, "--allow-write", self.folder, *RUN, *play.grants, "--interpreter", f"python={sys.executable}", *self.options(play, options)]
        kept = {name: os.environ[name] for name in ("XDG_CACHE_HOME", "MODBOX_LIBRARY", "RUSTUP_HOME", "CARGO_HOME") if name in os.environ}
        environment = {**ENVIRONMENT, **kept, "HOME": self.home, "TMPDIR": os.path.join(self.work, "modbox-tmp")}
        os.makedirs(environment["TMPDIR"], exist_ok=True)
        ran = subprocess.run(command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=900)
        # The folder of the user's runs stays, empty.
        left = [files for _, _, files in os.walk(environment["TMPDIR"]) if files]
        if left:
            raise SystemExit(f"modbox left {left}")
        return ran


def tree(root):
    """All that is below a folder."""
    found = {}
    for folder, folders, files in os.walk(root):
        for path in (os.path.join(folder, name) for name in folders + files):
            stat = os.lstat(path)
            seen = [oct(stat.st_mode), stat.st_uid, stat.st_gid]
            if os.path.islink(path):
                seen.append(os.readlink(path))
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    seen += [stat.st_nlink, file.read().decode(errors="backslashreplace")]
            found[os.path.relpath(path, root)] = seen
    return found
