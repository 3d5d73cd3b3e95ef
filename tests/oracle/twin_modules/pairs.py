"""The pairs of sides that the twin test compares: what is right, and what stands for it.

| pair | right | stands for it |
|---|---|---|
| `components` | ansible-core's modules | modbox's components |
| `sandbox` | ansible-core's modules | the same modules, in the sandbox's Python |
| `native` | ansible-core's modules | the same modules, natively and confined |

Each pair has a table of its known differences.
"""

import importlib.util
import os

import sides

TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../twin")

# Programs that `stat` starts, which a module in the sandbox has to be granted.
PROGRAMS = ["--allow-run", "file *", "--allow-run", "lsattr *"]

# Modules that are not run in a pair: `archive` imports, and `unarchive` starts, what the sandbox does not have.
LEFT_OUT = {"sandbox": {"archive", "unarchive"}}


def python_file(module):
    """The file of ansible-core's module."""
    return importlib.util.find_spec(sides.python_name(module)).origin


class Form:
    """One way to run a task on both sides. `words` are the options of modbox, for messages; `may_refuse` says that a task
    without the grants that it needs is no difference."""

    def __init__(self, right, other, words=(), may_refuse=False):
        self.right, self.other, self.words, self.may_refuse = right, other, list(words), may_refuse


class Pair:
    """The forms of a pair, and the name of its right side in messages."""

    def __init__(self, name, forms, right="ansible-core"):
        self.name, self.forms, self.right = name, forms, right

    def sides(self):
        return list(dict.fromkeys(side for form in self.forms.values() for side in (form.right, form.other)))


def beside_ansible(name, options, work, granted, modules):
    """A pair of ansible-core's modules and those of `modbox batch`, with a granted folder and with nothing but arguments."""
    component = lambda module: os.path.join(options.library, module + ".wasm")
    locate, place = {"components": (component, []), "sandbox": (python_file, ["--python", "wasm", *PROGRAMS]),
                     "native": (python_file, ["--python", "native"])}[name]
    ansible = sides.Ansible(work, modules)
    forms = {"folder": ["--allow-write", granted], "arguments": []}
    side = lambda words: sides.Modbox(options.modbox, locate, [*place, *words])
    return Pair(name, {form: Form(ansible, side(words), [*place, *words], form == "arguments") for form, words in forms.items()})


PAIRS = {name: beside_ansible for name in ("components", "sandbox", "native")}
FILES = {"components": "modules.tsv", "sandbox": "sandbox_modules.tsv", "native": "native_modules.tsv"}


def make(name, *arguments):
    return PAIRS[name](name, *arguments)


def table(name):
    return os.path.join(TABLES, FILES[name])
