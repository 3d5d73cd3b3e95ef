"""What ansible-core makes of modes: `set_mode_if_different`, and `_symbolic_mode_to_octal` under it.

A filter: one JSON object a line in, `{"wanted": mode, "mode": int, "directory": bool, "umask": int}`; one a line out, `{"mode": octal text}`
or `{"msg": text, "details": text}`.
"""

import json
import os
import stat
import sys
from types import SimpleNamespace
from unittest import mock

from ansible.module_utils.basic import AnsibleModule


class Failed(Exception):
    pass


class Module:
    """As much of a module as the method asks for."""

    check_mode = True
    _symbolic_mode_to_octal = AnsibleModule._symbolic_mode_to_octal
    _apply_operation_to_mode = AnsibleModule._apply_operation_to_mode
    _get_octal_mode_from_symbolic_perms = AnsibleModule._get_octal_mode_from_symbolic_perms

    def check_file_absent_if_check_mode(self, path):
        return False

    def fail_json(self, **result):
        raise Failed(result)


def answer(case):
    kind = stat.S_IFDIR if case["directory"] else stat.S_IFREG
    found = SimpleNamespace(st_mode=kind | case["mode"])
    os.umask(case["umask"])
    diff = {}
    try:
        with mock.patch("os.lstat", return_value=found):
            AnsibleModule.set_mode_if_different(Module(), "/x", case["wanted"], False, diff)
    except Failed as failed:
        result = failed.args[0]
        return {"msg": result["msg"], "details": str(result["details"])}
    after = diff.get("after", {}).get("mode")
    return {"mode": "0%03o" % case["mode"] if after is None else after}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
