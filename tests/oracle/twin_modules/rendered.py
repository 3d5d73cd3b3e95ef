"""What Ansible's action `template` renders (ansible-core 2.19, `plugins/action/template.py`)."""

from ansible.plugins.action.template import ActionModule
from ansible.template import Templar, generate_ansible_template_vars, trust_as_template

SYNTAX = {"trim_blocks": True, "lstrip_blocks": False, "newline_sequence": "\n"}
# The options that `copy` does not have.
OPTIONS = {*SYNTAX, "variables"}

assert ActionModule is not None


def text(arguments):
    """The text of a template with its variables."""
    with open(arguments["src"], encoding="utf-8", newline="") as file:
        template = trust_as_template(file.read())
    names = generate_ansible_template_vars(arguments["src"], fullpath=arguments["src"], dest_path=arguments["dest"])
    overrides = {key: arguments.get(key, default) for key, default in SYNTAX.items()}
    templar = Templar(loader=None, variables={**arguments["variables"], **names})
    found = templar.template(template, escape_backslashes=False, overrides=overrides)
    return "" if found is None else str(found)
