#!/usr/bin/python
"""Module: returns what a process has around it. Observing a module must not change any of it."""

import os
import resource
import signal
import sys

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = "module: environment"


def limits():
    return {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")}


def main():
    module = AnsibleModule(argument_spec={})
    umask = os.umask(0)
    os.umask(umask)
    signals = [int(number) for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN]
    descriptors = [number for number in range(256) if is_open(number)]
    module.exit_json(changed=False, variables=dict(os.environ), directory=os.getcwd(), umask=umask, limits=limits(), ids=[os.getuid(), os.getgid(), os.getgroups()],
        ignored=signals, blocked=sorted(int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])), descriptors=descriptors,
        nice=os.nice(0), flags=str(sys.flags), program=sys.executable, path=sys.path[1:], tmpdir=module.tmpdir, input=sys.stdin.read(), terminal=sys.stdin.isatty())


def is_open(number):
    try:
        os.fstat(number)
        return True
    except OSError:
        return False


if __name__ == "__main__":
    main()
