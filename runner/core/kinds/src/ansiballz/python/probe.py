# Prints the properties of an interpreter that modbox needs. For Python 2.7 and 3.5 and newer.
import json
import os
import site
import sys

folders = [os.path.abspath(folder) for folder in sys.path if folder]
users = site.getusersitepackages() if hasattr(site, 'getusersitepackages') else None
print(json.dumps({
    'version': list(sys.version_info[:3]),
    'executable': sys.executable,
    'folders': folders,
    'users_folder': users,
}))
