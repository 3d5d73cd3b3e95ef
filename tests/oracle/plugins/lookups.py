"""A lookup of a play: what it gets, what it returns, and how it fails."""

from ansible.errors import AnsibleError, AnsibleLookupError
from ansible.plugins.lookup import LookupBase

DOCUMENTATION = """
name: own
short_description: does what its first term says
description: [For a test.]
options:
  _terms: {description: [What to do.]}
  level: {description: [A number.], type: int, default: 3, vars: [{name: own_level}]}
  need: {description: [A list.], type: list, elements: str}
"""


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        self.set_options(var_options=variables, direct=kwargs)
        what, rest = (terms[0], terms[1:]) if terms else ("show", [])
        return getattr(self, what)(rest, variables)

    def show(self, rest, variables):
        return ["%r %r" % (list(rest), self.get_option("level"))]

    def options(self, rest, variables):
        return [self.get_option("level"), self.get_option("need")]

    def same(self, rest, variables):
        return list(rest)

    def count(self, rest, variables):
        return [len(rest[0])]

    def tuple(self, rest, variables):
        return (1, 2)

    def text(self, rest, variables):
        return "not a list"

    def iterator(self, rest, variables):
        return iter([1])

    def made(self, rest, variables):
        return [{1: ("a",), "b": {2}}]

    def object(self, rest, variables):
        return [object]

    def template(self, rest, variables):
        return ["{{ 1 + 1 }}"]

    def rendered(self, rest, variables):
        from ansible.template import trust_as_template
        return [self._templar.template(trust_as_template(text)) for text in rest]

    def untrusted(self, rest, variables):
        return [self._templar.template(text) for text in rest]

    def variable(self, rest, variables):
        return [self._templar.template(variables[name]) for name in rest]

    def has(self, rest, variables):
        return [name in variables for name in rest] + [variables.get("none", "default")]

    def names(self, rest, variables):
        wanted = {**variables}
        return sorted(name for name in wanted if name.startswith("own"))

    def host(self, rest, variables):
        return [variables["hostvars"]["localhost"][name] for name in rest]

    def find(self, rest, variables):
        return [self.find_file_in_search_path(variables, "files", name, ignore_missing=True) for name in rest]

    def read(self, rest, variables):
        path = self.find_file_in_search_path(variables, "files", rest[0])
        with open(path) as file:
            return [file.read()]

    def load(self, rest, variables):
        return [self._loader.load_from_file(self.find_file_in_search_path(variables, "files", name)) for name in rest]

    def fail(self, rest, variables):
        raise {
            "lookup": AnsibleLookupError("a lookup error"), "ansible": AnsibleError("an error"), "key": KeyError("a key"),
            "empty": Exception(),
        }[rest[0]]
