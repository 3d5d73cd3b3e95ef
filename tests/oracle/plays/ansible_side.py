"""Runs plays by ansible-playbook, in processes that are forked from one that has imported it."""

import hashlib
import json
import os
import sys

import fork
import forking_python
import machine

HERE = os.path.dirname(os.path.abspath(__file__))
INTERPRETER = forking_python.INTERPRETER


class Ansible:
    """ansible-playbook, in one place."""

    def __init__(self, place, kept=None):
        self.place, self.kept = place, kept
        self.python = None
        self.known = {}

    def results(self, play, mode, runs):
        """What each of the runs did."""
        key = self.key(play, mode)
        if key not in self.known:
            path = os.path.join(self.kept, key) if self.kept else None
            if path and os.path.exists(path):
                with open(path) as file:
                    self.known[key] = json.load(file)
            else:
                self.place.prepare(play)
                self.known[key] = [self.run(play, options) for options in runs]
                if path:
                    os.makedirs(self.kept, exist_ok=True)
                    with open(path, "w") as file:
                        json.dump(self.known[key], file)
        return self.known[key]

    def key(self, play, mode):
        """Tells the play's contents and the mode."""
        digest = hashlib.sha1(mode.encode())
        for root in (play.folder, os.path.join(HERE, "shared"), os.path.join(HERE, "callback_plugins")):
            for folder, folders, files in os.walk(root):
                folders.sort()
                for name in sorted(name for name in files if not name.endswith(".pyc")):
                    path = os.path.join(folder, name)
                    digest.update(f"{path} {os.stat(path).st_mode} ".encode())
                    with open(path, "rb") as file:
                        digest.update(file.read())
        return f"{play.name}-{digest.hexdigest()}"

    def start(self):
        """Starts the processes that fork: for ansible-playbook, and for modules."""
        home, work = self.place.home, self.place.work
        self.python = forking_python.ForkingPython()
        interpreter = os.path.join(work, "python")
        words = {"python": sys.executable, "fork": os.path.abspath(fork.__file__), "address": self.python.address}
        with open(interpreter, "w") as file:
            file.write(INTERPRETER.format(**words))
        os.chmod(interpreter, 0o755)
        config = os.path.join(home, "ansible.cfg")
        with open(config, "w"):
            pass
        self.environment = {
            **machine.ENVIRONMENT, "HOME": home, "TMPDIR": os.path.join(work, "tmp"), "ANSIBLE_CONFIG": config,
            "ANSIBLE_HOME": os.path.join(home, ".ansible"), "ANSIBLE_LOCAL_TEMP": os.path.join(home, "local-tmp"),
            "ANSIBLE_REMOTE_TEMP": os.path.join(home, "remote-tmp"), "ANSIBLE_PYTHON_INTERPRETER": interpreter,
            "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "false", "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
            "ANSIBLE_CALLBACK_PLUGINS": os.path.join(HERE, "callback_plugins"), "ANSIBLE_CALLBACKS_ENABLED": "record",
            "ANSIBLE_PIPELINING": "1", "RECORD": os.path.join(work, "record"),
        }
        os.makedirs(self.environment["TMPDIR"], exist_ok=True)
        # In the first child, since importing reads the environment.
        (theirs, orders), (answers, answering) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(orders)
            os.close(answers)
            serve(self.environment, os.fdopen(theirs), os.fdopen(answering, "w"))
            os._exit(0)
        os.close(theirs)
        os.close(answering)
        self.orders, self.answers = os.fdopen(orders, "w"), os.fdopen(answers)

    def run(self, play, options):
        """What one run did."""
        if self.python is None:
            self.start()
        record = self.environment["RECORD"]
        open(record, "w").close()
        output = os.path.join(self.place.work, "output")
        order = {"arguments": self.place.options(play, options), "directory": self.place.folder, "output": output}
        self.orders.write(json.dumps(order) + "\n")
        self.orders.flush()
        status = int(self.answers.readline())
        with open(output, errors="replace") as file:
            text = file.read()
        with open(output + ".errors", errors="replace") as file:
            errors = file.read()
        with open(record) as file:
            events = [json.loads(line) for line in file]
        return {"exit": status, "events": events, "tree": machine.tree(self.place.folder), "output": text, "errors": errors}

    def close(self):
        if self.python:
            self.orders.close()
            os.waitpid(self.pid, 0)
            self.python.end()


def serve(environment, orders, answers):
    """Imports ansible-core, and forks for each order."""
    os.environ.clear()
    os.environ.update(environment)
    import ansible.cli.playbook
    import ansible.executor.playbook_executor
    import ansible.executor.task_executor
    import ansible.playbook
    import ansible.plugins.callback.default
    import ansible.plugins.connection.local
    import ansible.plugins.shell.sh
    import ansible.plugins.strategy.linear
    for line in orders:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.chdir(order["directory"])
            sys.stdout.flush()
            with open(order["output"], "w") as out, open(order["output"] + ".errors", "w") as errors, open(os.devnull) as null:
                os.dup2(null.fileno(), 0)
                os.dup2(out.fileno(), 1)
                os.dup2(errors.fileno(), 2)
            status = 0
            try:
                sys.argv = ["ansible-playbook", *order["arguments"]]
                ansible.cli.playbook.PlaybookCLI.cli_executor(sys.argv)
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status or 0)
        _, ended = os.waitpid(pid, 0)
        answers.write(f"{os.waitstatus_to_exitcode(ended)}\n")
        answers.flush()
