"""What ansible-core hands to PowerShell for a module.

A filter: one JSON object a line in, `{"path", "name", "args", "roots"}`, `name` being the one that Ansible knows the module
by and `roots` the folders with collections; one a line out, `{"payload", "command"}`, or `{"error"}`.
"""

import json
import pathlib
import sys

from ansible.executor.powershell import module_manifest
from ansible.plugins.loader import init_plugin_loader, ps_module_utils_loader, shell_loader

OLD = b"# POWERSHELL_COMMON"


def build(case):
    path = pathlib.Path(case["path"])
    data = path.read_bytes()
    if OLD in data:
        data = data.replace(OLD, b"#AnsibleRequires -PowerShell Ansible.ModuleUtils.Legacy")
    payload = module_manifest._create_powershell_wrapper(
        name=case["name"],
        module_data=data,
        module_path=str(path),
        module_args=case["args"],
        environment={},
        async_timeout=0,
        become_plugin=None,
        substyle="powershell",
        task_vars={},
        profile="legacy",
    )
    return {"payload": payload.decode("ascii"), "command": command()}


def command():
    """Returns the command line that reads a payload, on Windows."""
    try:
        from ansible._internal._powershell import _script
    except ImportError:
        return shell_loader.get("powershell").build_module_command("", "", "")
    # Since ansible-core 2.21 (`_find_module_utils`).
    bootstrap = module_manifest._get_powershell_script("bootstrap_wrapper.ps1").decode("utf-8")
    return " ".join(_script.get_pwsh_encoded_cmdline(bootstrap, pwsh_path="PowerShell", override_execution_policy=True))


def main():
    # modbox sends what is not compressed, which ansible-core 2.22 does by this and by a setting.
    module_manifest.GZIP_AVAILABLE = False
    cases = [json.loads(line) for line in sys.stdin]
    init_plugin_loader(sorted({root for case in cases for root in case["roots"]}))
    # As for a role: what lies beside its modules.
    for folder in sorted({str(pathlib.Path(case["path"]).parent / "module_utils") for case in cases}):
        ps_module_utils_loader.add_directory(folder)
    for case in cases:
        try:
            answer = build(case)
        except Exception as error:
            answer = {"error": str(error)}
        print(json.dumps(answer))


main()
