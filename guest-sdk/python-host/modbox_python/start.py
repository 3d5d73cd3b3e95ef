"""Runs one module of Ansible, as `python FILE` of Ansible's own wrapper does.

The start file is a JSON object:

    module       the full name of the module to run, such as `ansible.modules.ping`
    sources      this module, and further ones that the interpreter does not have: a list of
                 {"name": full name, "source": path of the source, "shown": the file's path in tracebacks,
                  "package": whether it is a package, optional}
    code         instead of `sources`: the path of what `pack` has written for them. It saves the time to compile
    pack         true: compile the sources, print their code as `code` in base64, and run nothing. Optional
    host         the facts of `identity`: uid, gid, groups, parent, node, system, release, version, machine; those of
                 `system`: pid, processors; and those of `tls_authorities`: authorities, absent
    executable   what `sys.executable` names, for messages. Optional
    profile      the profile of messages, for ansible-core 2.19 and newer. Default: `legacy`
    directory    the working directory. Optional
    path         further folders to import from. Optional

A file `secrets.json` beside the module's arguments is a list of the secrets that are in them, for ansible-core 2.22.

The path of the start file is the program's second argument, or the value of `MODBOX_PYTHON_START`. The first argument is the path of the
module's arguments, as Ansible writes them. Without a start file, the interpreter says what it has, and runs nothing.

If the module called functions that the sandbox does not have, the last line of standard error names the first of them:
`modbox-python: needs os.fork`. Otherwise, if a command failed in a way that modules do not show, it says why:
`modbox-python: failed: ...`. The host takes that line away.

A component that `build.py` has built runs a module by hand so, with a start file that grants and paths agree with:

    modbox run interpreter.wasm --args '{"data": "hi"}' --allow-env MODBOX_PYTHON_START=/srv/start.json \
        --allow-read /srv/start.json --allow-read /srv/ping.py --allow-read /etc/passwd --allow-read /etc/group
"""

import atexit
import base64
import collections.abc
import datetime
import gc
import json
import os
import platform
import runpy
import sys
import tempfile
import traceback

from modbox_python import commands, host, preload, system, unsupported, whole_writes

# What the line begins with that names a missing function, or says why a command failed.
_NEEDS, _FAILED = "modbox-python: needs ", "modbox-python: failed: "

# Types of arguments and results.
_KINDS = (type(None), bool, int, float, str, bytes, list, tuple, dict, set, frozenset, datetime.datetime, datetime.date)

# Names the start file where the host passes one argument only.
VARIABLE = "MODBOX_PYTHON_START"


def run(store, about):
    """Runs the module, and returns the exit status."""
    os.reload_environ()
    start_path = os.environ.pop(VARIABLE, None) or (sys.argv[2] if len(sys.argv) > 2 else None)
    if start_path is None:
        whole_writes.renew_streams()
        json.dump({**about, **preload.usable(store)}, sys.stdout)
        return 0
    # Before the host's functions are in place, CPython's are good enough to read the start file.
    with open(start_path, encoding="utf-8") as file:
        start = json.load(file)
    with open(sys.argv[1], "rb") as file:
        params = _wrapped(file.read())
    secrets = _secrets(os.path.dirname(sys.argv[1]))
    whole_writes.renew_streams()
    system.renew(start.get("host", {}))
    commands.renew()
    _enter(start.get("directory"))
    sys.path[:], sys.executable = start.get("path", []), start.get("executable", "")
    _add(store, start)
    if "pack" in start:
        return _pack(store, start)
    name = start["module"]
    sys.argv[:] = [store.get_filename(name)]
    status = _status(lambda: _call(name, sys.argv[0], params, secrets, start.get("profile", "legacy")))
    said = [_NEEDS + name for name in unsupported.raised()] + [_FAILED + reason for reason in commands.failures()]
    for line in said[:1]:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    return status


def _wrapped(text):
    """Returns the arguments in the form that `basic` expects."""
    return text if text.startswith(b'{"ANSIBLE_MODULE_ARGS"') else b'{"ANSIBLE_MODULE_ARGS": ' + text + b"}"


def _secrets(folder):
    """Returns the secrets that are in the arguments, from the file beside them, if there is one."""
    try:
        with open(os.path.join(folder, "secrets.json"), encoding="ascii") as file:
            return frozenset(json.load(file))
    except FileNotFoundError:
        return frozenset()


def _takes(function, name):
    code = function.__code__
    return name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _enter(directory):
    """Changes to the working directory: that of the run, or else the host's for a run that has none, which is empty."""
    for folder in (directory, host.environment.initial_cwd(), "/tmp", "/"):
        if folder:
            try:
                os.chdir(folder)
                return
            except OSError:
                pass


def _add(store, start):
    """Adds the run's modules to the store, from their code or their sources."""
    if "code" in start:
        with open(start["code"], "rb") as file:
            store.unpack(file.read())
        return
    for module in start["sources"]:
        with open(module["source"], "rb") as file:
            store.add(module["name"], file.read(), module.get("package", False), module["shown"], is_source=True)


def _pack(store, start):
    """Prints the code of the run's modules."""
    names = [module["name"] for module in start["sources"]]
    json.dump({"code": base64.b64encode(store.pack(names)).decode()}, sys.stdout)
    return 0


def _call(name, path, params, secrets, profile):
    """Starts the module as the main program."""
    loader = sys.modules.get(preload.LOADER)
    if loader is not None:
        # Since ansible-core 2.22 the loader gets the secrets that are in the arguments.
        more = {"secrets": secrets} if _takes(loader.run_module, "secrets") else {}
        loader.run_module(json_params=params, profile=profile, module_fqn=name, modlib_path=path, extensions={}, **more)
        return
    sys.modules["ansible.module_utils.basic"]._ANSIBLE_ARGS = params
    known = {"_module_fqn": name, "_modlib_path": path}
    runpy.run_module(name, init_globals=known, run_name="__main__", alter_sys=True)
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
        status = _uncaught(*sys.exc_info())
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # CPython's status for output that could not be written.
            status = status or 120
    return status


def _uncaught(kind, error, trace):
    """Shows an error that nothing caught, and returns the exit status.

    A module's `sys.excepthook` may end the run in another way: that of `file` did until ansible-core 2.18.
    """
    if sys.excepthook is sys.__excepthook__:
        traceback.print_exception(kind, error, trace)
        return 1
    try:
        sys.excepthook(kind, error, trace)
    except SystemExit as ended:
        return _status_of(ended.code)
    except BaseException:
        sys.stderr.write("Error in sys.excepthook:\n")
        traceback.print_exc()
        sys.stderr.write("\nOriginal exception was:\n")
        traceback.print_exception(kind, error, trace)
    return 1


def _status_of(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _ask_abstract_classes():
    """Asks abstract classes whether the types of arguments and results are theirs. They remember it in each run.

    A class that is registered with one of them, as imports do, makes all forget which types are not theirs. The next
    question walks over all subclasses again.
    """
    for name in collections.abc.__all__:
        for kind in _KINDS:
            issubclass(kind, getattr(collections.abc, name))


def freeze():
    """Forgets what was found out about the machine, and excludes what is imported from garbage collection.

    A collection would visit all of it in every run.
    """
    platform._uname_cache = None
    platform._platform_cache.clear()
    tempfile.tempdir = None
    _ask_abstract_classes()
    gc.collect()
    gc.freeze()
