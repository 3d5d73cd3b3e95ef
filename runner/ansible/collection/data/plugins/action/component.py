"""Runs the component modules of collections by modbox on the host.

The host gets the digest of the component and the arguments, on the standard input of `modbox task`. If it lacks the
component or modbox, it says so, gets it, and is asked again. So a task takes one round trip, and needs no Python on the
host.

Variables:
    modbox_executable: the program on the host. Without it, that is `modbox` in PATH, else a copy that the controller sends.
    modbox_runner_dir: a folder on the controller with copies; `plugin_utils/runners.py` has all places.
    modbox_remote_dir: the folder on the host for copies; `plugin_utils/target.py` has the default ones.
    modbox_policy: a policy that restricts the task further: a mapping, or the path of a file on the controller.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.modbox.modbox.plugins.plugin_utils import audit, runners, target

# Numbers of the contract with modbox on hosts: that of a plain task, that of one with a policy or the question for its audit
# line, and that of one with a signature. The least one is written, so that hosts need no newer modbox than they must.
PLAIN, EXTENDED, SIGNED = 1, 2, 3
# Longest policy, in characters, as on hosts.
MAX_POLICY = 1 << 20
# Exit status of sudo, su and doas that do not start a program. modbox ends with it only after a result.
REFUSED = 1
# Exit status of a shell that cannot start or find the program.
NOT_STARTED, NOT_FOUND = 126, 127
# What sudo says for want of a terminal: most translations have this word.
NO_TERMINAL = re.compile(r"\bsudo: .*\btty\b", re.IGNORECASE)
# Length of invalid output that a message shows.
SHOWN = 2000
# Why a host does not take a copy of modbox, by the words of `target`.
REFUSALS = {
    "folder": "the folder cannot be made, or another user can open it",
    "full": "it cannot be unpacked or written; the disk may be full",
    "unchecked": "the host has no program for SHA-256: install sha256sum, shasum or openssl",
    "damaged": "it has another digest than the one that was sent",
    "start": "it does not start there: the folder may be mounted noexec, or the program may need a newer C library than "
    "the host's",
}


class Component:
    """A component of a collection, by the name of its module."""

    def __init__(self, name):
        collection, dot, self.module = name.rpartition(".")
        if collection.count(".") != 1:
            raise AnsibleActionFail(f"{name!r} is not the full name of a module in a collection")
        try:
            package = importlib.import_module(f"ansible_collections.{collection}")
            self.folder = os.path.join(package.__path__[0], "components")
            with open(os.path.join(self.folder, "index.json"), encoding="utf-8") as file:
                self.digest = json.load(file)[self.module]
        except (ImportError, OSError, ValueError, KeyError) as error:
            raise AnsibleActionFail(
                f"the collection {collection} has no component {self.module!r}: {error}; install the collection again"
            )

    def signature(self):
        """Returns the text of the component's signature file, and an empty one if it has none."""
        try:
            with open(os.path.join(self.folder, f"{self.module}.wasm.sig"), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            raise AnsibleActionFail(f"the signature of {self.module!r} cannot be read: {error}; install the collection again")

    def compressed(self):
        with open(os.path.join(self.folder, f"{self.module}.wasm.gz"), "rb") as file:
            return file.read()


class ActionModule(ActionBase):
    _supports_check_mode = True
    _supports_async = True
    _supports_diff = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        self.variables = task_vars or {}
        name = self.module_name()
        component = Component(name)
        args = dict(self._task.args)
        self._update_module_args(name, args, self.variables)
        args["_ansible_module_name"] = name
        self.executable = self.variable("modbox_executable")
        self.remote_dir = self.variable("modbox_remote_dir")
        self.program = "modbox"
        self.runners = None if self.executable else runners.find(self.variable("modbox_runner_dir"))
        envelope = self.envelope(component, args)
        words = self.words_for_jobs()
        try:
            answer = self.ask(words, envelope)
            if answer.get("modbox_need") == "module":
                stored = self.ask(["--store", component.digest], component.compressed())
                if stored.get("modbox_stored") != component.digest:
                    return {**result, **stored, "failed": True}
                answer = self.ask(words, envelope)
        finally:
            if self._connection._shell.tmpdir:
                self._remove_tmp_path(self._connection._shell.tmpdir, force=True)
        if "modbox_need" in answer:
            raise AnsibleActionFail(
                f"modbox on the host lacks what the task needs ({answer['modbox_need']}): install a newer one there"
            )
        result.update(answer)
        return result

    def module_name(self):
        """Returns the full name of the task's module. Some releases resolve a task's action to this plugin."""
        find = self._shared_loader_obj.module_loader.find_plugin_with_context
        found = find(self._task.action, collection_list=self._task.collections)
        return found.resolved_fqcn or self._task.action

    def envelope(self, component, args):
        """Returns the task as bytes."""
        task = {"contract": PLAIN, "module": component.digest, "args": args}
        policy = self.policy()
        if policy:
            task["policy"] = policy
        if audit.is_wanted() or self._display.verbosity >= 3:
            task["audit"] = True
        if "policy" in task or "audit" in task:
            task["contract"] = EXTENDED
        signature = component.signature()
        if signature:
            task.update(contract=SIGNED, signature=signature)
        return json.dumps(task, default=str).encode("utf-8", "surrogateescape")

    def policy(self):
        """Returns the text of the task's policy, which is YAML as that of policy files. JSON is YAML, too."""
        value = self._templar.template(self.variables.get("modbox_policy"))
        if not value:
            return ""
        if isinstance(value, dict):
            return json.dumps(value, default=str)
        if not isinstance(value, str):
            raise AnsibleActionFail("the variable modbox_policy must be a mapping, or the path of a file")
        try:
            with open(self._find_needle("files", value), encoding="utf-8") as file:
                text = file.read(MAX_POLICY + 1)
        except (AnsibleError, OSError, ValueError) as error:
            raise AnsibleActionFail(f"the file {value!r} that the variable modbox_policy names cannot be read: {error}")
        if len(text) > MAX_POLICY:
            raise AnsibleActionFail(f"the file {value!r} that the variable modbox_policy names is longer than 1 MiB")
        return text

    def variable(self, name):
        """Returns the text of a variable, and an empty one if it is not set."""
        value = self.variables.get(name) or ""
        value = self._templar.template(value) if value else value
        if not isinstance(value, str):
            raise AnsibleActionFail(f"the variable {name} must be a text")
        return value

    def words_for_jobs(self):
        """Returns the words that make a job of an asynchronous task. `async_status` reads what modbox writes."""
        if not self._task.async_val:
            return []
        # As the action plugin async_status does, which expands `~` without HOME.
        folder = self._remote_expand_user(self.get_shell_option("async_dir", default="~/.ansible_async"))
        return ["--async", f"{self._task.async_val}s", "--async-dir", folder]

    def ask(self, words, data):
        """Runs `modbox task`, and returns the object that it prints. Sends modbox to a host that lacks it."""
        words = ["task", *words]
        if self.executable:
            return self.execute(" ".join(map(shlex.quote, [self.executable, *words])), data)
        answer = self.start(words, data)
        if answer.get("modbox_need") == "runner" and "unpack" not in answer:
            # The one that is installed there does not know this contract.
            self.program = ""
            answer = self.start(words, data)
        if answer.get("modbox_need") == "runner" and "unpack" in answer:
            self.send_runner(answer)
            answer = self.start(words, data)
        return answer

    def start(self, words, data):
        return self.execute(target.start(self.program, self.remote_dir, self.runners.digests(), words), data)

    def send_runner(self, answer):
        """Puts modbox into the first place on the host that takes it."""
        system, machine, unpack = (str(answer.get(key)) for key in ("system", "machine", "unpack"))
        runner = self.runners.of(machine) if system == "Linux" else None
        if not runner:
            raise AnsibleActionFail(
                f"the host has no modbox in PATH, and the controller has none for {system} on {machine} to send: install "
                "modbox on the host and name it with the variable modbox_executable, or "
                + self.runners.advice(machine)
            )
        data = runner.compressed() if unpack == "gzip" else runner.plain()
        refusals = []
        for place in target.PLACES:
            stored = self.execute(target.ship(place, self.remote_dir, runner.digest, unpack), data)
            if stored.get("modbox_stored") == runner.digest:
                return
            why = stored.get("modbox_refused")
            if why != "none":
                refusals.append(f"{place}: {REFUSALS.get(why, why)} {self.errors}".strip())
        raise AnsibleActionFail(
            f"the host does not keep {runner.path}, sent from the controller: {'; '.join(refusals)}. Name another folder "
            "of the host with the variable modbox_remote_dir, or install modbox there"
        )

    def execute(self, command, data):
        """Runs a command with data as its standard input, and returns the object in its last line of JSON."""
        command = f"{self._compute_environment_string()} {command}".strip()
        ran = None
        if self.takes_input():
            ran = self._low_level_execute_command(command, in_data=data)
            if ran["rc"] == REFUSED and NO_TERMINAL.search(ran["stderr"]) and not last_object(ran["stdout"]):
                # `requiretty` of sudo: a connection with input has no terminal.
                ran = None
        if not ran:
            ran = self._low_level_execute_command(f"{command} < {shlex.quote(self.transfer(data))}")
        self.errors = ran["stderr"].strip()[-SHOWN:]
        answer = last_object(ran["stdout"])
        if answer:
            return answer
        if self.executable and ran["rc"] in (NOT_FOUND, NOT_STARTED):
            raise AnsibleActionFail(
                f"the program {self.executable!r} cannot be started on the host: install modbox there, or change the "
                "variable modbox_executable"
            )
        shown = self.errors or ran["stdout"].strip()[-SHOWN:]
        become = self._connection.become
        if become and ran["rc"] == REFUSED:
            raise AnsibleActionFail(
                f"{become.name} does not make the login user {become.get_option('become_user')} on the host, so the task has "
                f"not begun: {shown}; check ansible_become_password, and the rules of {become.name} there"
            )
        raise AnsibleActionFail(f"modbox on the host printed no result, with exit status {ran['rc']}: {shown}")

    def takes_input(self):
        """Says whether the connection hands input to a program that runs as the user of the task."""
        connection, become = self._connection, self._connection.become
        # Options of ssh may ask for a terminal, which would change the input.
        if not connection.has_pipelining or getattr(connection, "_is_tty_requested", bool)():
            return False
        if not become:
            return True
        # That connection gives a terminal to a program that may ask for a password, and hands no input to it.
        password = become.get_option("become_pass", playcontext=self._play_context)
        if connection.transport == "local" and password and not connection.get_option("pipelining"):
            return False
        # ansible-core before 2.19 has no attribute for this.
        return getattr(become, "pipelining", become.name != "su")

    def transfer(self, data):
        """Writes data to a file on the host, for connections that do not take it as input."""
        if not self._connection._shell.tmpdir:
            self._make_tmp_path()
        folder = self._connection._shell.tmpdir
        path = self._connection._shell.join_path(folder, "input")
        self._transfer_data(path, data)
        try:
            self._fixup_perms2((folder, path))
        except AnsibleError as error:
            raise AnsibleActionFail(
                f"{self._connection.become.name} gives no input to the task, so its arguments have to be in a file that both "
                f"users can read: {error}. Install setfacl on the host (package acl), or use sudo without `requiretty`"
            )
        return path


def last_object(text):
    """Returns the object in the last line that has one. A host may print words before it and after it."""
    for line in reversed(text.split("\n")):
        start = line.find('{"')
        if start >= 0:
            try:
                return json.JSONDecoder().raw_decode(line, start)[0]
            except ValueError:
                return None
    return None
