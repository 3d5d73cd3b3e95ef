"""A new-style Ansible module with everything that it imports from Ansible, put together by modbox.

    python FILE [ARGUMENTS]

ARGUMENTS is a file with the arguments as a JSON object, as they are or as {"ANSIBLE_MODULE_ARGS": {...}}. Without it they
are read from standard input. The result is printed as one JSON object. For Python 2.7 and 3.5 and newer, as far as the
module and Ansible's own files go.
"""


def read_arguments():
    import json
    import sys
    if len(sys.argv) > 1:
        with open(sys.argv[1], 'rb') as arguments:
            text = arguments.read()
    elif sys.stdin is None or sys.stdin.isatty():
        text = b'{}'
    else:
        text = getattr(sys.stdin, 'buffer', sys.stdin).read()
    try:
        params = json.loads(text.decode('utf-8')) if text.strip() else {}
    except ValueError as error:
        sys.exit('failed to read the arguments: they are not JSON: %s' % error)
    if not isinstance(params, dict):
        sys.exit('failed to read the arguments: they are not a JSON object')
    if not isinstance(params.get('ANSIBLE_MODULE_ARGS'), dict):
        params = {'ANSIBLE_MODULE_ARGS': params}
    # The module sees one argument, its own name.
    del sys.argv[1:]
    return json.dumps(params).encode('ascii')


def portable(zip_data, name, module_fqn, has_loader, params, secrets):
    import base64
    import os
    import shutil
    import sys
    import tempfile

    enter_some_folder()
    # What lies beside this file must not be taken for a library.
    beside = {'', '.'}
    if '__file__' in globals():
        beside.add(os.path.dirname(os.path.realpath(__file__)))
    sys.path[:] = [folder for folder in sys.path if folder not in beside]
    if params is None:
        params = read_arguments()
    folder = os.path.realpath(tempfile.mkdtemp(prefix='ansible_%s_payload_' % name))
    try:
        path = os.path.join(folder, 'ansible_%s_payload.zip' % name)
        with open(path, 'wb') as payload:
            payload.write(base64.b64decode(zip_data))
        sys.path.insert(0, path)
        start(params, module_fqn, path, has_loader, secrets)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
