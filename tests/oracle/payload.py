"""What ansible-core's own assembler packs for modules, and what a file that modbox assembled holds.

Reads lines of JSON: {"name": ..., "path": a module's file, "assembled": a file of modbox or null}. Answers each with
{"files": [...], "same": [...]}: the names in ansible-core's payload, and those that have the same bytes in modbox's, whose own names
are in "ours"; or with {"error": ...} when ansible-core refuses the module. The first argument, if there is one, is a folder
with an `ansible` that goes before the installed one; folders of collections come from the environment, as usual.
"""
import base64
import datetime
import inspect
import io
import json
import re
import sys
import warnings
import zipfile

warnings.simplefilter('ignore')
if len(sys.argv) > 1:
    sys.path.insert(0, sys.argv[1])

from ansible.errors import AnsibleError
from ansible.executor import module_common

try:
    from ansible.plugins.loader import init_plugin_loader
except ImportError:
    init_plugin_loader = None


def call(function, **known):
    """Calls a function with those of the arguments that this release of it takes."""
    parameters = inspect.signature(function).parameters
    return function(**{name: value for name, value in known.items() if name in parameters})


def fqn(name, path):
    try:
        return module_common._get_ansible_module_fqn(path)
    except ValueError:
        return 'ansible.legacy.' + name


def pack(name, path):
    with open(path, 'rb') as module:
        data = module.read()
    packed = io.BytesIO()
    now = datetime.datetime.now(datetime.timezone.utc)
    known = dict(name=name, module_fqn=fqn(name, path), remote_module_fqn=fqn(name, path), module_data=data, data=data,
                 b_module_data=data, module_path=path, date_time=now)
    with zipfile.ZipFile(packed, 'w') as known['zf']:
        builder = getattr(module_common, '_builder', None)
        if builder is not None:
            known['extension_manager'] = builder.ExtensionManager.create(task_vars={})
        if 'py_module_names' in inspect.signature(module_common.recursive_finder).parameters:
            # Before 2.10 the caller packed these two and said so.
            seeds = {('ansible', '__init__'): 'ansible/__init__.py',
                     ('ansible', 'module_utils', '__init__'): 'ansible/module_utils/__init__.py'}
            for path in seeds.values():
                known['zf'].writestr(path, b'')
            known['py_module_cache'] = {seed: (b'', path) for seed, path in seeds.items()}
            known['py_module_names'] = set(seeds)
        call(module_common.recursive_finder, **known)
        call(module_common._add_module_to_zip, **known)
    return zipfile.ZipFile(packed)


def unpack(path):
    with open(path) as file:
        data = re.search(r"^zip_data = '([^']*)'$", file.read(), re.MULTILINE).group(1)
    return zipfile.ZipFile(io.BytesIO(base64.b64decode(data)))


def same(theirs, ours):
    """Whether two files do the same: they are the same, or both stand in for the same module under the same name."""
    stand_in = re.compile(rb"^import (ansible[\w.]+)\b.*^sys\.modules\['([\w.]+)'\] = ", re.MULTILINE | re.DOTALL)
    found = [stand_in.search(text) for text in (theirs, ours)]
    return theirs == ours or all(found) and found[0].groups() == found[1].groups()


if init_plugin_loader is not None:
    init_plugin_loader()
for line in sys.stdin:
    question = json.loads(line)
    try:
        theirs = pack(question['name'], question['path'])
    except AnsibleError as error:
        print(json.dumps({'error': str(error)}))
        continue
    files = sorted(set(theirs.namelist()))
    answer = {'files': files, 'ours': [], 'same': []}
    if question['assembled']:
        ours = unpack(question['assembled'])
        answer['ours'] = sorted(ours.namelist())
        answer['same'] = [name for name in files if name in answer['ours'] and same(theirs.read(name), ours.read(name))]
    print(json.dumps(answer))
