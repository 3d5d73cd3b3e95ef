"""What ansible-core makes of the bytes of a module.

A filter: one JSON object a line in, `{"path"}` or `{"bytes"}` (base64); one a line out, `{"style",
"substyle", "shebang"}`. `shebang` is the list of words that Ansible reads from the first line, null without
one, or the name of the exception it stops with.
"""

import base64
import json
import pathlib
import sys

from ansible.executor import module_common


class Decided(Exception):
    """Carries the verdict out of the function that would go on to build the module."""


def read(case):
    return pathlib.Path(case["path"]).read_bytes() if "path" in case else base64.b64decode(case["bytes"])


def shebang(data):
    try:
        interpreter, args = module_common._extract_interpreter(data)
    except Exception as error:
        return type(error).__name__
    return None if interpreter is None else [interpreter, *args]


def classify(data):
    """Runs Ansible's own function and stops it as soon as it has the verdict."""
    seen = {}

    def watch_calls(frame, event, arg):
        return watch_lines if frame.f_code.co_name == "_find_module_utils" else None

    def watch_lines(frame, event, arg):
        # `shebang` is the first thing that is set behind the verdict.
        if "shebang" in frame.f_locals:
            seen.update(frame.f_locals)
            raise Decided
        return watch_lines

    code = module_common._find_module_utils.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = {"b_module_data": data, "module_name": "m", "module_path": "/m", "module_args": {}, "task_vars": {}}
    sys.settrace(watch_calls)
    try:
        module_common._find_module_utils(**{name: given.get(name) for name in names})
    except Decided:
        pass
    finally:
        sys.settrace(None)
    return seen["module_style"], seen["module_substyle"]


def main():
    for line in sys.stdin:
        data = read(json.loads(line))
        style, substyle = classify(data)
        print(json.dumps({"style": style, "substyle": substyle, "shebang": shebang(data)}))


main()
