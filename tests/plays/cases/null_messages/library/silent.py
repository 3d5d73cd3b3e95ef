"""A module whose message is null."""

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule(argument_spec={})
    module.exit_json(msg=None, other=None)


if __name__ == "__main__":
    main()
