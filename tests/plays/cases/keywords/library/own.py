#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule({"text": {"type": "str", "required": True}, "number": {"type": "int"}}, supports_check_mode=True)
module.warn("take care")
module.exit_json(changed=module.params["number"] == 3, text=module.params["text"] + "{{ 1 + 1 }}", ansible_facts={"own_fact": 1})
