# Starts a new-style Python module that can be imported already, with its arguments in place. For Python 2.7 and 3.5 and newer.
import gc
import os
import sys


def enter_some_folder():
    # Importing fails when the working directory was removed or is not readable.
    try:
        os.getcwd()
    except OSError:
        for folder in (os.path.expanduser('~'), '/'):
            try:
                os.chdir(folder)
                return
            except OSError:
                pass


def import_first(has_loader):
    # Imported objects live until the end. Garbage collection among them takes a sixth of a short run.
    gc.disable()
    try:
        if has_loader:
            # Since ansible-core 2.19 module_utils has this loader, which also handles exceptions.
            from ansible.module_utils._internal._ansiballz import _loader as first
        else:
            from ansible.module_utils import basic as first
        if hasattr(gc, 'freeze'):
            # Since Python 3.7.
            gc.freeze()
    finally:
        gc.enable()
    return first


def takes(function, name):
    code = function.__code__
    return name in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]


def start(params, module_fqn, modlib_path, has_loader, secrets=()):
    first = import_first(has_loader)
    if has_loader:
        # Since ansible-core 2.22 the loader gets the secrets that are in the arguments.
        more = {'secrets': frozenset(secrets)} if takes(first.run_module, 'secrets') else {}
        first.run_module(
            json_params=params, profile='legacy', module_fqn=module_fqn, modlib_path=modlib_path, extensions={}, **more)
        return
    import runpy
    first._ANSIBLE_ARGS = params
    known = {'_module_fqn': module_fqn, '_modlib_path': modlib_path}
    runpy.run_module(module_fqn, init_globals=known, run_name='__main__', alter_sys=True)
    print('{"msg": "New-style module did not handle its own exit", "failed": true}')
    sys.exit(1)


def laid_out(folder, module_fqn, has_loader):
    enter_some_folder()
    # Arguments are one line. Secrets that are in them are a list in a second one.
    params, _, secrets = sys.stdin.buffer.read().partition(b'\n')
    if secrets:
        import json
        secrets = json.loads(secrets.decode('ascii'))
    start(params, module_fqn, folder, has_loader, secrets)
