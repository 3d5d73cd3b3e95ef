"""The pairs of sides that the twin test compares: what is right, and what stands for it.

| pair | right | stands for it |
|---|---|---|
| `components` | ansible-core's modules | modbox's components |
| `sandbox` | ansible-core's modules | the same modules, in the sandbox's Python |
| `native` | ansible-core's modules | the same modules, natively and confined |
| `observed` | ansible-core's modules, as a controller sends them | the same modules, observed by `modbox-python` |
| `previews` | plain runs of modbox | previews that are saved and applied, by kind: components, native and in the sandbox |

Each pair has a table of its known differences.
"""

import importlib.util
import os
import sys

import fixed
import observed
import previewed
import sides

HERE = os.path.dirname(os.path.abspath(__file__))
TABLES = os.path.join(HERE, "../../twin")

# Modules of this folder.
OWN = {"environment"}

# Programs that `stat` starts, which a module in the sandbox has to be granted.
PROGRAMS = ["--allow-run", "file *", "--allow-run", "lsattr *"]

# Programs of the tasks of `command`.
COMMANDS = [word for name in ("echo", "cat", "true", "false", "ls", "touch", "mkdir", "rm", "head", "sh", "pwd", "wc") for word in ("--allow-run", name + " *")]

# Modules that are not run in a pair: `archive` imports, and `unarchive` starts, what the sandbox does not have; the module `copy`
# gets a file that Ansible's action has brought, and only the component is both.
LEFT_OUT = {"sandbox": {"archive", "copy", "unarchive"}, "native": {"copy"}, "previews": {"archive", "unarchive"}, "observed": set()}
# Modules that only the pair of components compares: programs and servers need grants, and Ansible has no module `template`.
OF_COMPONENTS = {"command", "get_url", "template", "uri"}
for left_out in LEFT_OUT.values():
    left_out |= OF_COMPONENTS

# Pairs without check mode: a preview of it is not what a plain run in it is.
UNCHECKED = {"previews"}


# The fixed cases of pairs that have others than the modules themselves.
FIXED = {"observed": [fixed.case("environment")], "previews": []}


def python_file(module):
    """The file of ansible-core's module."""
    if module in OWN:
        return os.path.join(HERE, module + ".py")
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


def kinds(options):
    """How the modules of each kind are found, and the options of modbox for them."""
    component = lambda module: os.path.join(options.library, module + ".wasm")
    native = ["--python", "native", "--interpreter", sys.executable]
    server = ["--allow-net", options.server] if options.server else []
    return {"components": (component, [*COMMANDS, *server]), "sandbox": (python_file, ["--python", "wasm", *PROGRAMS]), "native": (python_file, native)}


def set_id_bits(user):
    """The grant of set-id bits of the files that the tasks' user makes. Without it they are refused, which `set_id.rs` holds."""
    owner = f"{os.getuid()}:{os.getgid()}" if user is None else f"{user}:{user}"
    return ["--allow-own", owner + "+setid"]


def beside_ansible(name, options, work, granted, modules):
    """A pair of ansible-core's modules and those of `modbox batch`, with a granted folder and with nothing but arguments."""
    locate, place = kinds(options)[name]
    home = os.path.join(work, "home")
    os.makedirs(home, exist_ok=True)
    if options.user is not None:
        os.chown(home, options.user, options.user)
    ansible = sides.Ansible(work, modules, options.user)
    forms = {"folder": ["--allow-write", granted], "arguments": []}
    forms = {form: [*place, *set_id_bits(options.user), *words] for form, words in forms.items()}
    side = lambda words: sides.Modbox(options.modbox, locate, words, options.user, home)
    return Pair(name, {form: Form(ansible, side(words), words, form == "arguments") for form, words in forms.items()})


def beside_plain(name, options, work, granted, modules):
    """A pair of plain and observed runs."""
    del granted, modules
    right, other = observed.pair_of(options.modbox, python_file, work)
    return Pair(name, {"observed": Form(right, other)})


def beside_real(name, options, work, granted, modules):
    """A pair of plain runs, and of previews that are applied."""
    del modules
    forms = {}
    for kind, (locate, words) in kinds(options).items():
        words = [*words, *set_id_bits(None), "--allow-write", granted]
        forms[kind] = Form(sides.Modbox(options.modbox, locate, words), previewed.Previewed(options.modbox, locate, words, work), words, True)
    return Pair(name, forms, right="the plain run")


PAIRS = {"components": beside_ansible, "sandbox": beside_ansible, "native": beside_ansible, "observed": beside_plain, "previews": beside_real}
FILES = {"components": "modules.tsv", "sandbox": "sandbox_modules.tsv", "native": "native_modules.tsv", "observed": "observed_modules.tsv", "previews": "previews.tsv"}


def make(name, *arguments):
    return PAIRS[name](name, *arguments)


def table(name):
    return os.path.join(TABLES, FILES[name])
