"""The file that Ansible makes of a module that is no Ansiballz, and the arguments that it adds.

A filter: one JSON object a line in, `{"bytes"}` (base64), `{"args"}`, `{"vars"}`; one a line out, `{"bytes", "shebang"}`,
or `{"error"}` with the name of an exception. Where a line has `"internal"`, an object of settings, the answer is
`{"args"}`: the reserved arguments behind the given ones, in order, as a task on this machine gets them.

Runs with 2.9, 2.14 and 2.19; what differs between them is how they are called.
"""

import base64
import inspect
import json
import pathlib
import sys
import tempfile

from ansible import constants
from ansible.executor import module_common
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.playbook.task import Task
from ansible.plugins.action.normal import ActionModule
from ansible.plugins.loader import connection_loader
from ansible.template import Templar

try:
    from ansible.plugins.loader import init_plugin_loader

    init_plugin_loader()
except ImportError:
    pass


def build(case, folder):
    path = folder / "module"
    path.write_bytes(base64.b64decode(case["bytes"]))
    given = {
        "module_name": "module",
        "module_path": str(path),
        "module_args": case["args"],
        "templar": Templar(loader=DataLoader(), variables=case["vars"]),
        "task_vars": case["vars"],
    }
    try:
        built = module_common.modify_module(**given)
    except Exception as error:
        return {"error": type(error).__name__}
    data, style, shebang = built if isinstance(built, tuple) else (built.b_module_data, built.module_style, built.shebang)
    return {"bytes": base64.b64encode(data).decode("ascii"), "style": style, "shebang": shebang}


def internal(case):
    settings = case["internal"]
    task = Task.load({"action": "ping", "args": {}})
    task.check_mode = settings.get("check", False)
    task.diff = settings.get("diff", False)
    task.no_log = settings.get("no_log", False)
    context = PlayContext()
    for name in ("check_mode", "diff", "no_log"):
        value = {"check_mode": "check"}.get(name, name)
        try:
            setattr(context, "_" + name, settings.get(value, False))
            setattr(context, name, settings.get(value, False))
        except AttributeError:
            pass
    context.executable = settings.get("shell_executable", "/bin/sh")
    loader = DataLoader()
    connection = connection_loader.get("local", context, "/dev/null")
    if isinstance(connection, tuple):
        connection = connection[0]
    connection._shell.tmpdir = settings.get("tmpdir")
    templar = Templar(loader=loader, variables={})
    action = ActionModule(task, connection, context, loader, templar, None)
    args = dict(case["args"])
    if "debug" in settings:
        constants.DEFAULT_DEBUG = settings["debug"]
    if "selinux_special_fs" in settings:
        constants.DEFAULT_SELINUX_SPECIAL_FS = settings["selinux_special_fs"]
    known = {"module_name": settings.get("module_name", "module"), "module_args": args, "task_vars": case["vars"]}
    extra = {"ignore_unknown_opts": settings.get("ignore_unknown_opts", False)}
    wanted = inspect.signature(action._update_module_args).parameters
    action._update_module_args(**{name: value for name, value in {**known, **extra}.items() if name in wanted})
    constants.DEFAULT_DEBUG = False
    constants.DEFAULT_SELINUX_SPECIAL_FS = ["fuse", "nfs", "vboxsf", "ramfs", "9p", "vfat"]
    return {"args": json.dumps(args)}


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for line in sys.stdin:
            case = json.loads(line)
            answer = internal(case) if "internal" in case else build(case, pathlib.Path(scratch))
            print(json.dumps(answer))


main()
