"""Asks of a collection what `ansible-test sanity` asks: the tests validate-modules and action-plugin-docs, and of pep8 the length
of lines.

The program itself makes an environment for each test, with a pip that it downloads from a server of its own. This runs the same
checks in the environment that it is started with, and applies the collection's own list of what is not asked. Prints each finding,
and each entry of the list that nothing needs.

Run as `sanity.py FOLDER`, the folder that `ansible_collections` is in, with voluptuous and antsibull-docs-parser.
"""

import json
import os
import pathlib
import subprocess
import sys

import ansible.release
import ansible_test

COLLECTION = "ansible_collections/modbox/modbox"


def asked(program, words, **how):
    ran = subprocess.run([sys.executable, program, *words], capture_output=True, text=True, **how)
    if ran.returncode not in (0, 1, 3) or "Traceback" in ran.stderr:
        sys.exit(f"{program}: {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def findings(root):
    os.chdir(root / COLLECTION)
    util = pathlib.Path(ansible_test.__file__).parent / "_util/controller/sanity"
    modules = sorted(str(path) for path in pathlib.Path("plugins/modules").glob("*.py"))
    words = ["--format", "json", "--arg-spec", "--collection", COLLECTION, "--collection-version", "0.1.0", *modules]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(root)}
    told = json.loads(asked(util / "validate-modules/validate.py", words, env=environment))
    for path, problems in told.items():
        for problem in problems["errors"]:
            yield f"{path} validate-modules:{problem['code']}", problem["msg"]
    paths = "\n".join(str(path) for path in pathlib.Path("plugins").rglob("*.py"))
    for line in asked(util / "code-smell/action-plugin-docs.py", [], input=paths).splitlines():
        yield f"{line.split(':')[0]} action-plugin-docs", line
    for path in pathlib.Path("plugins").rglob("*.py"):
        if any(len(line) > 160 for line in path.read_text().splitlines()):
            yield f"{path} pep8:E501", "a line is longer than 160 characters"
    if len(modules) < 2 or len(told) != len(modules):
        sys.exit(f"validate-modules looked at {len(told)} of {len(modules)} modules")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    release = ".".join(ansible.release.__version__.split(".")[:2])
    ignored = root / COLLECTION / f"tests/sanity/ignore-{release}.txt"
    entries = {line.split(" #")[0].strip() for line in ignored.read_text().splitlines()}
    found = dict(findings(root))
    for entry in sorted(found.keys() - entries):
        print(f"{entry}: {found[entry]}")
    for entry in sorted(entries - found.keys()):
        print(f"{ignored.name}: {entry}: nothing needs this entry")


main()
