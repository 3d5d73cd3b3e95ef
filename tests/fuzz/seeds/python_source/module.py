#!/usr/bin/python
# Copyright: none
from __future__ import annotations
DOCUMENTATION = r"""
module: sample
options: {}
"""
import os, json as j
from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.acme.tools.plugins.module_utils.net import get
from ..module_utils import other
try:
    import yaml
    HAS = True
except ImportError:
    HAS = False

SPEC = dict(path=dict(type='path', required=True, aliases=['dest']), secret=dict(no_log=True))

def main():
    module = AnsibleModule(
        argument_spec=dict(SPEC, state=dict(choices=['present', 'absent'], default='present')),
        supports_check_mode=True, required_if=[('state', 'present', ['path'])], add_file_common_args=True)
    rc, out, err = module.run_command(['uname', '-a'], check_rc=True)
    module.exit_json(changed=False, out=f"{out!r:>{len(err)}}", **{'x': 1 if rc else -2})

if __name__ == '__main__':
    main()
