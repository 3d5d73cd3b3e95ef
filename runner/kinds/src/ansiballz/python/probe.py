# Prints the properties of an interpreter that modbox needs. For Python 2.7 and 3.5 and newer.
import json
import os
import site
import sys

prefixes = [getattr(sys, name, None) for name in ('prefix', 'exec_prefix', 'base_prefix', 'base_exec_prefix')]
folders = [os.path.abspath(folder) for folder in sys.path if folder]
users = site.getusersitepackages() if hasattr(site, 'getusersitepackages') else None
print(json.dumps({
    'version': list(sys.version_info[:3]),
    'executable': sys.executable,
    'prefixes': sorted(set(prefix for prefix in prefixes if prefix)),
    'folders': folders,
    'users_folder': users,
}))
