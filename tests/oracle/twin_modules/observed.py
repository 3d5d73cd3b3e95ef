"""Sides of the twin test that run modules as ansible-core sends them: by Python, and by `modbox-python`, which observes them."""

import json
import os
import subprocess
import sys

import sides

# What a task has around it, besides its folders. modbox finds this Python by `ansible`, which is beside it.
VARIABLES = {"LANG": "C.UTF-8", "STAGE": "test", "PATH": os.pathsep.join([os.path.dirname(sys.executable), "/usr/bin:/bin"])}

# The time that one task may take, on a busy machine.
PATIENCE = 120


def pair_of(program, locate, work):
    """The plain side, and the observed one."""
    home = os.path.join(work, "home")
    os.makedirs(os.path.join(home, ".config/modbox"))
    with open(os.path.join(home, ".config/modbox/policy.yaml"), "w") as file:
        json.dump({"audit": os.path.join(work, "audit.jsonl"), "python-modules": "observe"}, file)
    link = os.path.join(work, "modbox-python")
    os.symlink(os.path.realpath(program), link)
    payloads = Payloads(locate)
    return Sent(sys.executable, payloads, work, home), Sent(link, payloads, work, home)


class Payloads:
    """Makes modules with their arguments and imports, as the controller does."""

    def __init__(self, locate):
        from ansible.executor import module_common
        from ansible.parsing.dataloader import DataLoader
        from ansible.plugins.loader import init_plugin_loader
        from ansible.template import Templar

        init_plugin_loader()
        self.templar, self.locate, self.make = Templar(DataLoader()), locate, module_common.modify_module

    def of(self, task, tmpdir):
        internal = {f"_ansible_{key}": value for key, value in {"check_mode": task["check"], "diff": task["diff"], "tmpdir": tmpdir,
            "remote_tmp": tmpdir, "module_name": task["module"], "verbosity": 0}.items()}
        variables = {"ansible_python_interpreter": sys.executable}
        made = self.make(module_name=task["module"], module_path=self.locate(task["module"]), module_args={**task["arguments"], **internal},
            templar=self.templar, task_vars=variables)
        return made.b_module_data


class Sent:
    """Modules that a program runs which takes the place of Python."""

    def __init__(self, program, payloads, work, home):
        self.program, self.payloads, self.work = program, payloads, work
        self.tmp, self.empty = os.path.join(work, "tmp"), os.path.join(work, "empty")
        for folder in (self.tmp, self.empty):
            os.makedirs(folder, exist_ok=True)
        self.variables = {**VARIABLES, "HOME": home, "PWD": self.empty}

    def run(self, task):
        path = os.path.join(self.work, "AnsiballZ_" + task["module"] + ".py")
        with open(path, "wb") as file:
            file.write(self.payloads.of(task, self.tmp))
        ran = subprocess.run([self.program, path], env=self.variables, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=PATIENCE,
            cwd=self.empty, umask=0o022)
        result = sides.first_object(ran.stdout.decode(errors="surrogateescape"))
        if result is None:
            result = {"failed": True, "msg": f"status {ran.returncode}: {ran.stdout} {ran.stderr}"}
        return {"failed": bool(result.get("failed")), "result": result, "status": "", "denials": []}

    def end(self):
        pass
