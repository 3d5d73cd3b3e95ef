#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.near.by.plugins.module_utils.words import greeting


def main():
    module = AnsibleModule(argument_spec=dict(name=dict(required=True)), supports_check_mode=True)
    module.exit_json(changed=False, greeting=greeting(module.params["name"]))


if __name__ == "__main__":
    main()
