#!/usr/bin/python
DOCUMENTATION = r'''
module: greet
short_description: Writes a greeting
description:
  - Writes a greeting into the file O(path). See M(ansible.builtin.copy).
attributes:
  check_mode:
    support: full
options:
  path:
    description: Where.
    type: path
    required: true
    aliases: [dest]
  style:
    description: How.
    choices:
      warm: With a smile.
      cold: Without.
    default: warm
  names:
    description: To whom.
    type: list
    elements: str
'''

EXAMPLES = r'''
- name: Greet
  greet:
    path: /srv/motd
'''

RETURN = r'''
text:
  description: The text.
  type: str
  returned: always
'''

from ansible.module_utils.basic import AnsibleModule

STYLES = ["warm", "cold"]


def main():
    spec = dict(
        path=dict(type="path", required=True, aliases=["dest"]),
        style=dict(choices=STYLES, default="warm"),
        names=dict(type="list", elements="str"),
        count=dict(type="int"),
    )
    module = AnsibleModule(argument_spec=spec, mutually_exclusive=[["names", "count"]], supports_check_mode=True)
    module.exit_json(text="Hello")


if __name__ == "__main__":
    main()
