"""Where the worker imports packages from: not from its working directory, as the program `ansible-playbook` does not."""

import sys

sys.path[:] = [path for path in sys.path if path]
