"""Runs modbox as root or as an ordinary user, in folders of its own.

An ordinary user may be unable to reach the interpreter, ansible-core or modbox where they lie. Then it gets copies.
"""

import json
import os
import shutil
import subprocess
import sys

import stand_ins

# The ordinary user of runs that root starts.
USER = 4242
# Seconds for one run on a busy machine.
PATIENCE = 300
# The module that makes random edits.
RANDOM = "random_edits"
SYSTEM_PYTHON = "/usr/bin/python3"
WORKS = "import sys; assert sys.version_info >= (3, 8)"


def by_user(command, user=USER):
    """A command as an ordinary user runs it."""
    return ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", *command]


def is_reachable(folder):
    """Whether the ordinary user can be in a folder."""
    return subprocess.run(by_user(["test", "-x", folder]), check=False).returncode == 0


class Side:
    """One user with all that its runs need."""

    def __init__(self, name, place, modbox, python, modules, own, plain=False):
        self.name, self.place, self.plain = name, place, plain
        # Of the user who runs modbox; none if that is who runs this program.
        self.user = USER if name == "user" and os.geteuid() == 0 else None
        self.modbox, self.python, self.modules, self.own = modbox, python, modules, own
        for folder in ("home", "tmp", "cases"):
            os.makedirs(os.path.join(place, folder), exist_ok=True)
        self.random_edits = self.copied(os.path.join(os.path.dirname(os.path.abspath(__file__)), RANDOM + ".py"), RANDOM)
        if self.user is not None:
            self.move_within_reach()

    def move_within_reach(self):
        os.chmod(self.place, 0o755)
        for folder in ("home", "tmp", "cases"):
            os.chown(os.path.join(self.place, folder), USER, USER)
        self.modbox = self.copied(self.modbox, "modbox")
        self.own = self.copied(self.own, "own")
        package = os.path.dirname(self.modules)
        self.modules = self.copied(self.modules, "ansible/modules")
        for name in ("module_utils", "config", "release.py", "__init__.py"):
            self.copied(os.path.join(package, name), f"ansible/{name}")
        if not self.can(["test", "-x", os.path.realpath(self.python)]):
            self.python = SYSTEM_PYTHON
        if not self.can([self.python, "-c", WORKS]):
            sys.exit(f"user {USER} has no Python that can run ansible-core's modules: {SYSTEM_PYTHON} is none")

    def copied(self, path, name):
        to = os.path.join(self.place, name)
        if os.path.isdir(path):
            shutil.copytree(path, to, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, to)
        return to

    def path_of(self, case):
        """The file of a case's module."""
        if case.module == RANDOM:
            return self.random_edits
        return os.path.join(self.own, case.module + ".wasm") if case.own else os.path.join(self.modules, case.module + ".py")

    def as_user(self, command):
        if self.user is None:
            return command
        return by_user(command, self.user)

    def can(self, command):
        run = subprocess.run(self.as_user(command), capture_output=True, cwd="/", check=False)
        return run.returncode == 0

    def run(self, module, args, options, folder="", machine=()):
        """Runs a module, and returns its report."""
        words = [self.modbox, "run", module, "--output", "report", "--interpreter", self.python, "--args", json.dumps(args)]
        command = stand_ins.prefix(folder, machine) + self.as_user([*words, *options])
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "HOME": os.path.join(self.place, "home"),
            "TMPDIR": os.path.join(self.place, "tmp"),
            "XDG_CACHE_HOME": os.path.join(self.place, "home/.cache"),
        }
        ran = subprocess.run(
            command, env=environment, cwd=os.path.join(self.place, "home"), capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        try:
            return json.loads(ran.stdout)
        except ValueError:
            sys.exit(f"no report: {command}\n{ran.stdout[:2000]}{ran.stderr[:2000]}")
