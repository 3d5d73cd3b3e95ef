"""Runs one module of Ansible, as `python FILE` of Ansible's own wrapper does.

The start file is a JSON object:

    module       {"name": the module's full name, such as `ansible.modules.ping`,
                  "shown": its file's path in tracebacks,
                  "source": a path of the source, or "code": a path of its marshalled code}
    imports      further modules: a list of objects like `module`, with "package": whether it is one. Optional
    host         the facts of `identity`: uid, gid, groups, node, system, release, version, machine, ...
    profile      the profile of messages, for ansible-core 2.19 and newer. Default: `legacy`
    directory    the working directory. Optional
    path         further folders to import from. Optional

Its path is the program's second argument, or the value of `MODBOX_PYTHON_START`. The first argument is the path of the
module's arguments, as Ansible writes them. With `"about": true` it tells what the interpreter has, and runs nothing.

A component that `build.py` has built runs a module by hand so, with a start file that grants and paths agree with:

    modbox run interpreter.wasm --args '{"data": "hi"}' --allow-env MODBOX_PYTHON_START=/srv/start.json \
        --allow-read /srv/start.json --allow-read /srv/ping.py --allow-read /etc/passwd --allow-read /etc/group
"""

import atexit
import gc
import json
import marshal
import os
import platform
import runpy
import sys
import tempfile
import traceback

from modbox_python import commands, preload, system

# Names the start file where the host passes one argument only.
VARIABLE = "MODBOX_PYTHON_START"


def run(store, about):
    """Runs the module, and returns the exit status."""
    os.reload_environ()
    start_path = os.environ.pop(VARIABLE, None) or _argument(2)
    # Before the host's functions are in place, CPython's are good enough to read the start file.
    with open(start_path, encoding="utf-8") as file:
        start = json.load(file)
    if start.get("about"):
        json.dump(about, sys.stdout)
        return 0
    with open(_argument(1), "rb") as file:
        params = _wrapped(file.read())
    system.renew(start.get("host", {}))
    commands.renew()
    _enter(start.get("directory"))
    sys.path[:] = start.get("path", [])
    for other in start.get("imports", []):
        _add(store, other)
    module = start["module"]
    _add(store, module)
    sys.argv[:] = [module["shown"]]
    return _status(lambda: _call(module, params, start.get("profile", "legacy")))


def _argument(at):
    if len(sys.argv) <= at:
        raise SystemExit("failed to start: the program has no argument %d" % at)
    return sys.argv[at]


def _wrapped(text):
    """Returns the arguments in the form that `basic` expects."""
    return text if text.startswith(b'{"ANSIBLE_MODULE_ARGS"') else b'{"ANSIBLE_MODULE_ARGS": ' + text + b"}"


def _enter(directory):
    """Changes to the working directory, or to one that exists."""
    for folder in (directory, "/tmp", "/"):
        if folder:
            try:
                os.chdir(folder)
                return
            except OSError:
                pass


def _add(store, module):
    """Adds a module to the store, from its code or its source."""
    if "code" in module:
        with open(module["code"], "rb") as file:
            code = marshal.load(file)
    else:
        with open(module["source"], "rb") as file:
            code = compile(file.read(), module["shown"], "exec", dont_inherit=True)
    store.add(module["name"], code, module.get("package", False), module["shown"])


def _call(module, params, profile):
    """Starts the module as the main program."""
    loader = sys.modules.get(preload.LOADER)
    if loader is not None:
        loader.run_module(json_params=params, profile=profile, module_fqn=module["name"], modlib_path=module["shown"],
                          extensions={})
        return
    sys.modules["ansible.module_utils.basic"]._ANSIBLE_ARGS = params
    known = {"_module_fqn": module["name"], "_modlib_path": module["shown"]}
    runpy.run_module(module["name"], init_globals=known, run_name="__main__", alter_sys=True)
    print('{"msg": "New-style module did not handle its own exit", "failed": true}')
    sys.exit(1)


def _status(call):
    """Calls a function, and returns the exit status that CPython would end with."""
    try:
        call()
        status = 0
    except SystemExit as ended:
        status = _status_of(ended.code)
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # CPython's status for output that could not be written.
            status = status or 120
    return status


def _status_of(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def freeze():
    """Forgets what was found out about the machine, and excludes what is imported from garbage collection.

    A collection would visit all of it in every run.
    """
    platform._uname_cache = None
    platform._platform_cache.clear()
    tempfile.tempdir = None
    gc.collect()
    gc.freeze()
