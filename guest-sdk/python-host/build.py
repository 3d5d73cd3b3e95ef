"""Builds the interpreter: CPython for WASI with the user's `ansible.module_utils` imported, as one component; or with
`--plugins` the component of plugins, with ansible-core's controller half imported.

    build.py --ansible FOLDER --wit FOLDER --out FILE [--collection NAMESPACE.NAME=FOLDER]...
        [--componentize PROGRAM | --componentize-package FOLDER]
    build.py --ansible FOLDER --wit FOLDER --out FILE --plugins [--package NAME=FOLDER]... [--componentize ...]

FOLDER of `--ansible` is the package `ansible` of an installed ansible-core, and that of `--collection` an installed
collection, whose `module_utils` are imported, too. FOLDER of `--package` is a Python package that the controller half needs. FOLDER of `--wit` holds the interfaces that the world imports, one
folder or file for each package. The build fails if what every module needs could not be
imported. componentize-py is a program, or a package in a folder, which then runs with this Python. Other packages of this
machine are kept out, so that the result depends on nothing else.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# An empty package: the real one is of the controller, and modules get an empty one natively, too.
PACKAGE = "__version__ = %r\n__author__ = 'Ansible, Inc.'\n"


# Runs componentize-py from the folder that is the first argument.
FROM_PACKAGE = "import sys; sys.path.insert(0, sys.argv.pop(1)); import componentize_py; componentize_py.script()"


class BuildError(Exception):
    """The interpreter could not be built."""


def release_of(ansible):
    """Returns the release of an ansible-core."""
    path = os.path.join(ansible, "release.py")
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(r"^__version__ = ['\"]([^'\"]+)", file.read(), re.MULTILINE)
    except OSError as error:
        raise BuildError("failed to read the release of ansible-core: %s" % error) from error
    if found is None:
        raise BuildError("failed to read the release of ansible-core: `%s` has no `__version__`" % path)
    return found[1]


def utilities(collection):
    """Returns the path of a collection's `module_utils` below a folder with `ansible_collections` in it."""
    return os.path.join("ansible_collections", *collection.split("."), "plugins", "module_utils")


def lay_out(ansible, folder, collections=()):
    """Writes the files that are imported: `module_utils`, `release`, and where they come from.

    `collections` are pairs of a name and a folder.
    """
    release = release_of(ansible)
    package = os.path.join(folder, "ansible")
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "*.ps1", "*.psm1", "*.cs", "powershell", "csharp")
    shutil.copytree(os.path.join(ansible, "module_utils"), os.path.join(package, "module_utils"), ignore=ignored)
    shown = {}
    for name, root in collections:
        own = os.path.join(root, "plugins", "module_utils")
        shutil.copytree(own, os.path.join(folder, utilities(name)), ignore=ignored)
        shown[utilities(name)] = os.path.abspath(own)
    shutil.copy(os.path.join(ansible, "release.py"), package)
    for name, text in (("", PACKAGE % release), ("modules", "")):
        os.makedirs(os.path.join(package, name), exist_ok=True)
        with open(os.path.join(package, name, "__init__.py"), "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(folder, "modbox_layout.py"), "w", encoding="utf-8") as file:
        file.write('"""Where `ansible` comes from."""\n\nimport os\n\nFOLDER = os.path.dirname(__file__)\n')
        file.write("SHOWN = %r\nRELEASE = %r\n" % (os.path.abspath(ansible), release))
        file.write("COLLECTIONS = %r\n" % shown)
    return release


# Parts of ansible-core that plugins do not import: programs of other systems, and what needs further packages.
_NOT_OF_PLUGINS = ("powershell", "csharp", "galaxy", "cli")

# The parts of the worker that run in any place, in this order.
_WORKER = ("values.py", "variables.py", "worker.py")


def lay_out_controller(ansible, folder, packages):
    """Writes the files of the controller half, of the packages that it needs, and the worker. `packages` are pairs of a name and a
    folder."""
    release = release_of(ansible)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "*.so", "*.ps1", "*.psm1", "*.cs", *_NOT_OF_PLUGINS)

    def ignored_in(at, names):
        # Of Ansible's modules, only the empty package.
        modules = [name for name in names if name != "__init__.py"] if at == os.path.join(ansible, "modules") else []
        return {*ignored(at, names), *modules}

    shown, versions = {}, {}
    for name, root in (("ansible", ansible), *packages):
        shutil.copytree(root, os.path.join(folder, name), ignore=ignored_in)
        shown[name] = os.path.abspath(root)
        versions[name] = version_of(name, root)
    with open(os.path.join(folder, "modbox_worker.py"), "w", encoding="utf-8") as file:
        for name in _WORKER:
            with open(os.path.join(HERE, "plugins", name), encoding="utf-8") as part:
                file.write(part.read() + "\n")
    with open(os.path.join(folder, "modbox_layout.py"), "w", encoding="utf-8") as file:
        file.write('"""Where the packages come from."""\n\nimport os\n\nFOLDER = os.path.dirname(__file__)\n')
        file.write("RELEASE = %r\nPACKAGES = %r\nVERSIONS = %r\n" % (release, shown, versions))
    return release


def version_of(name, root):
    """Returns the version of an installed package, by the folder of its metadata; empty if there is none."""
    for entry in sorted(os.listdir(os.path.dirname(os.path.abspath(root)))):
        found = re.fullmatch(r"([^-]+)-([^-]+)(?:-py[0-9.]+)?\.(?:dist|egg)-info", entry)
        if found and found[1].lower() in (name, "py" + name):
            return found[2]
    return ""


def lay_out_wit(interfaces, folder):
    """Writes the world and the interfaces that it imports."""
    shutil.copytree(interfaces, os.path.join(folder, "deps"))
    shutil.copy(os.path.join(HERE, "world.wit"), folder)


def build(options, componentize, work):
    """Builds the interpreter, or the component of plugins, in a folder for work."""
    sources, wit, empty = (os.path.join(work, name) for name in ("sources", "wit", "empty"))
    for folder in (sources, wit, os.path.join(empty, "lib", "site-packages")):
        os.makedirs(folder)
    if options.plugins:
        release = lay_out_controller(options.ansible, sources, options.package)
    else:
        release = lay_out(options.ansible, sources, options.collection)
    lay_out_wit(options.wit, wit)
    world, component = ("plugins", "plugins_component") if options.plugins else ("interpreter", "component")
    # componentize-py adds the packages of a virtual environment, or else those of this machine's Python.
    environment = {**os.environ, "VIRTUAL_ENV": empty}
    unfinished = os.path.join(work, "interpreter.wasm")
    command = [*componentize, "-q", "-d", wit, "-w", world, "componentize", component, "-o", unfinished]
    for folder in (HERE, sources):
        command += ["-p", folder]
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0 or not os.path.isfile(unfinished):
        message = done.stderr.decode("utf-8", "replace").split("\nStack backtrace:")[0]
        raise BuildError("componentize-py failed:\n%s" % message)
    # Under its final name, the file is complete or not there.
    os.replace(unfinished, options.out)
    return release


def collection(text):
    """Reads `NAMESPACE.NAME=FOLDER`."""
    name, sign, folder = text.partition("=")
    if not sign or not re.fullmatch(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*", name):
        raise argparse.ArgumentTypeError("`%s` is not NAMESPACE.NAME=FOLDER" % text)
    return name, folder


def package(text):
    """Reads `NAME=FOLDER`."""
    name, sign, folder = text.partition("=")
    if not sign or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise argparse.ArgumentTypeError("`%s` is not NAME=FOLDER" % text)
    return name, folder


def main():
    """Reads the command line, and builds."""
    parser = argparse.ArgumentParser(description="Builds a Python interpreter for modbox's sandbox.")
    parser.add_argument("--ansible", required=True, help="the package `ansible` of ansible-core")
    parser.add_argument("--wit", required=True, help="the folder of the interfaces")
    parser.add_argument("--collection", action="append", default=[], type=collection,
                        help="an installed collection, as NAMESPACE.NAME=FOLDER")
    parser.add_argument("--plugins", action="store_true", help="build the component of plugins")
    parser.add_argument("--package", action="append", default=[], type=package,
                        help="a package that the controller half needs, as NAME=FOLDER")
    parser.add_argument("--out", required=True, help="the component to write")
    parser.add_argument("--componentize", default="componentize-py", help="the program componentize-py")
    parser.add_argument("--componentize-package", help="a folder with the package componentize_py")
    options = parser.parse_args()
    componentize = [options.componentize]
    if options.componentize_package is not None:
        componentize = [sys.executable, "-I", "-c", FROM_PACKAGE, options.componentize_package]
    # The folder lies beside the component, so that an interrupted installation, which removes its own folder, removes it.
    with tempfile.TemporaryDirectory(prefix=".work-", dir=os.path.dirname(os.path.abspath(options.out))) as work:
        try:
            release = build(options, componentize, work)
        except (BuildError, OSError) as error:
            sys.exit("failed to build the interpreter: %s" % error)
    print("built `%s` with ansible-core %s" % (options.out, release))


if __name__ == "__main__":
    main()
