"""Sides of the twin test: ansible-core's modules, unconfined, and modules in `modbox batch`. Both are warm.

ansible-core's modules run in a mount namespace in which only the work folder can be written.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import signal
import stat
import subprocess
import sys
import tempfile
import traceback

import rendered

# The time that one task may take, on a busy machine.
PATIENCE = 60

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18

# What ends a process that runs tasks.
END = "\n"

OF_COLLECTIONS = "archive", "ini_file"


def contract():
    """The contract of the ansible-core that this compares with, which components follow."""
    from ansible.release import __version__
    return "2.21" if [int(number) for number in __version__.split(".")[:2]] >= [2, 21] else "2.19"


def python_name(module):
    """The Python name of the module that a component stands for."""
    prefix = "ansible_collections.community.general.plugins.modules" if module in OF_COLLECTIONS else "ansible.modules"
    return f"{prefix}.{module}"


def first_object(text):
    """The first object of JSON in a module's output."""
    for start in (at for at, letter in enumerate(text) if letter == "{"):
        with contextlib.suppress(ValueError):
            return json.JSONDecoder().raw_decode(text, start)[0]
    return None


class Ansible:
    """A process that has imported what modules import, and forks for each task."""

    def __init__(self, work, modules, user=None):
        self.work, self.user = work, user
        self.tmp = os.path.join(work, "tmp")
        os.makedirs(self.tmp, exist_ok=True)
        if user is not None:
            os.chown(self.tmp, user, user)
        mine, theirs = (os.pipe() for _ in range(2))
        self.pid = os.fork()
        if self.pid == 0:
            os.close(mine[1])
            os.close(theirs[0])
            self.serve(os.fdopen(mine[0]), os.fdopen(theirs[1], "w"), modules)
        os.close(mine[0])
        os.close(theirs[1])
        self.requests, self.answers = os.fdopen(mine[1], "w"), os.fdopen(theirs[0])
        if (started := self.answers.readline()) != "ready\n":
            sys.exit(f"ansible-core's side did not start: {started}")

    def serve(self, requests, answers, modules):
        # On a target, modules take names that are not UTF-8. Here they find the controller's code beside them, which refuses such.
        os.environ["ANSIBLE_MODULE_STRICT_UTF8_RESPONSE"] = "False"
        try:
            only_writable(self.work)
            if self.user is not None:
                become(self.user)
            for module in modules:
                if module == "template":
                    continue  # an action, which uses `copy`
                importlib.import_module(python_name(module))
        except BaseException as error:
            print(repr(error), file=answers, flush=True)
            os._exit(1)
        print("ready", file=answers, flush=True)
        for line in iter(requests.readline, END):
            print(json.dumps(self.answer(json.loads(line))), file=answers, flush=True)
        os._exit(0)

    def answer(self, request):
        with tempfile.TemporaryFile(dir=self.tmp) as output:
            pid = os.fork()
            if pid == 0:
                signal.alarm(PATIENCE)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # programs such as `unzip` ask
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                self.be(request)
            _, status = os.waitpid(pid, 0)
            output.seek(0)
            text = output.read().decode(errors="surrogateescape")
        if (found := first_object(text)) is not None:
            return found
        return {"failed": True, "msg": f"status {status}: {text}"}

    def be(self, request):
        """Is the process of one module."""
        status = 0
        try:
            sys.stdin, sys.stdout, sys.stderr = open(os.devnull), os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", errors="backslashreplace", closefd=False)
            os.chdir(self.tmp)
            sys.argv = [request["module"], request["path"]]
            runpy.run_module(python_name(request["module"]), run_name="__main__")
        except SystemExit as ended:
            status = ended.code or 0
        except BaseException:
            traceback.print_exc()
            status = 1
        gc.collect()  # what was written to files that are left open reaches them, as at the end of a process
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)

    def transferred(self, task):
        """The arguments of `copy` after Ansible's action has brought the file to the host."""
        source, brought = task["arguments"].get("src", ""), os.path.join(self.tmp, "source")
        # What the user may not read cannot be brought.
        with acting_as(self.user):
            can_be_brought = os.path.isfile(source) and os.access(source, os.R_OK, effective_ids=True)
        if not can_be_brought:
            return task["arguments"]
        with contextlib.suppress(FileNotFoundError):
            os.unlink(brought)
        with open(source, "rb") as file, open(brought, "wb") as copy:
            copy.write(file.read())
        if self.user is not None:
            os.chown(brought, self.user, self.user)
        mode = {"mode": f"0{os.stat(source).st_mode & 0o7777:03o}"} if task["arguments"].get("mode") == "preserve" else {}
        return {**task["arguments"], **mode, "src": brought, "_original_basename": os.path.basename(source)}

    def run(self, task):
        if task["module"] == "template":
            return self.template(task)
        arguments = self.transferred(task) if task["module"] == "copy" else task["arguments"]
        internal = {f"_ansible_{key}": value for key, value in {
            "check_mode": task["check"], "diff": task["diff"], "module_name": task["module"], "tmpdir": self.tmp,
            "remote_tmp": self.tmp}.items()}
        path = os.path.join(self.work, "arguments.json")
        with open(path, "w") as file:
            json.dump({"ANSIBLE_MODULE_ARGS": {**arguments, **internal}}, file)
        print(json.dumps({"module": task["module"], "path": path}), file=self.requests, flush=True)
        result = json.loads(self.answers.readline())
        return {"failed": bool(result.get("failed")), "result": result}

    def template(self, task):
        """Does what Ansible's action does: renders the template, and lets `copy` bring the text."""
        place = os.path.join(self.tmp, "rendered", os.path.basename(task["arguments"]["src"]) or "t")
        os.makedirs(os.path.dirname(place), exist_ok=True)
        try:
            with acting_as(self.user):
                text = rendered.text(task["arguments"])
        except Exception as error:
            return {"failed": True, "result": {"msg": str(error)}}
        with open(place, "w", newline="") as file:
            file.write(text)
        arguments = {key: value for key, value in task["arguments"].items() if key not in rendered.OPTIONS}
        return self.run({**task, "module": "copy", "arguments": {"follow": False, **arguments, "src": place}})

    def end(self):
        # Another side that was started later has this end of the pipe, too, so that closing it would not end the process.
        print(END, end="", file=self.requests, flush=True)
        os.waitpid(self.pid, 0)


def show_homes(paths):
    """Lets every user reach these paths, in a mount namespace of this process: homes that others may not search become folders
    with nothing else in them."""
    call("unshare", CLONE_NEWNS)
    call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    kept, homes = {}, set()
    for path in sorted(map(os.path.realpath, paths), key=len):
        if any(path.startswith(other + "/") for other in kept):
            continue
        parents = [path[:at] for at, letter in enumerate(path) if letter == "/" and at]
        closed = [parent for parent in parents if not os.stat(parent).st_mode & 0o001]
        if closed:
            kept[path] = os.open(path, os.O_PATH)
            homes.add(closed[0])
    for home in homes:
        call("mount", b"homes", home.encode(), b"tmpfs", 0, b"mode=755")
    for path, descriptor in kept.items():
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        os.makedirs(path if is_folder else os.path.dirname(path), exist_ok=True)
        if not is_folder and not os.path.exists(path):
            open(path, "w").close()
        call("mount", f"/proc/self/fd/{descriptor}".encode(), path.encode(), None, MS_BIND | MS_REC, None)
        os.close(descriptor)
    os.chdir("/")


def call(name, *arguments):
    """Calls a function of the C library, or raises what it says."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}{arguments}: {os.strerror(ctypes.get_errno())}")


def become(user):
    """Makes this process one of a user."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


@contextlib.contextmanager
def acting_as(user):
    """Has the rights of a user for a while, if one is given and this is root."""
    if user is None:
        yield
        return
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)


def only_writable(work):
    """Makes all mounts but that of the work folder read-only, for this process and those that it starts."""
    user, group = os.getuid(), os.getgid()
    call("unshare", CLONE_NEWNS | (0 if user == 0 else CLONE_NEWUSER))
    if user != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    call("mount", work.encode(), work.encode(), None, MS_BIND, None)
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split()[4].encode().decode("unicode_escape") for line in file]
    for place in mounts:
        if place != work:
            # A mount below another one, or one whose flags are locked, cannot be reached or changed.
            with contextlib.suppress(OSError):
                call("mount", None, place.encode(), None, MS_REMOUNT | MS_BIND | MS_RDONLY, None)
    probe = os.path.join(os.path.dirname(work), "must-not-be-made")
    with contextlib.suppress(OSError):
        open(probe, "w").close()
        os.unlink(probe)
        raise SystemExit("what is outside of the work folder can be written")
    os.chdir(work)  # in the new mount


def seen(report):
    """What a report of modbox's says."""
    result = report.get("result") or {}
    failed = bool(result.get("failed")) or report["status"] not in ("ok", "changed", "skipped")
    return {"failed": failed, "result": result, "status": report["status"], "denials": report.get("denials", [])}


class Modbox:
    """A `modbox batch` with certain options. `locate` returns the file of a module. `home` is the folder of another user, for
    which it runs."""

    def __init__(self, program, locate, options, user=None, home=None):
        self.command = [program, "batch", "--jobs", "1", *options]
        self.locate = locate
        self.more = {}
        if user is not None:
            self.more = {"user": user, "group": user, "extra_groups": [], "env": {**os.environ, "HOME": home, "XDG_CACHE_HOME": home, "TMPDIR": home}, "cwd": home}
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **self.more)
        self.pending = b""

    def run(self, task):
        job = {"id": 1, "module": self.locate(task["module"]), "args": task["arguments"], "check": task["check"], "diff": task["diff"],
            "internal": {"contract": contract()}}
        self.process.stdin.write(json.dumps(job).encode() + b"\n")
        self.process.stdin.flush()
        line = self.line()
        if line is None:
            self.process.kill()
            self.process.wait()
            self.start()
            return {"failed": True, "result": {"msg": "no report"}, "status": "hung", "denials": []}
        return seen(json.loads(line))

    def line(self):
        while b"\n" not in self.pending:
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                return None
            read = os.read(self.process.stdout.fileno(), 1 << 20)
            if not read:
                return None
            self.pending += read
        line, self.pending = self.pending.split(b"\n", 1)
        return line

    def end(self):
        self.process.stdin.close()
        self.process.wait()
