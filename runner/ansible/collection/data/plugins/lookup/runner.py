"""Finds the controller's copy of modbox for an architecture, for the role `install`."""

from __future__ import annotations

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ansible_collections.modbox.modbox.plugins.plugin_utils import runners

DOCUMENTATION = r"""
name: runner
short_description: finds the controller's copy of modbox for an architecture
description:
  - Returns the path of the file that the collection also sends to hosts that lack modbox.
  - The variable C(modbox_runner_dir) names a folder that is looked at first.
options:
  _terms:
    description: Architectures, such as C(x86_64) or C(aarch64).
    required: true
"""

EXAMPLES = r"""
- name: Copy modbox to the host
  ansible.builtin.copy:
    src: "{{ lookup('modbox.modbox.runner', ansible_facts.architecture) }}"
    dest: /usr/local/bin/modbox
    mode: "0755"
"""

RETURN = r"""
_raw:
  description: Paths of files on the controller.
  type: list
  elements: path
"""


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        named = (variables or {}).get("modbox_runner_dir") or ""
        named = str(self._templar.template(named)) if named else ""
        found = runners.find(named)
        paths = []
        for machine in terms:
            runner = found.of(machine)
            if not runner:
                raise AnsibleError(f"the controller has no modbox for Linux on {machine}: {found.advice(machine)}")
            paths.append(runner.path)
        return paths
