"""Which file ansible-core takes for the name of a module.

A filter: one name a line in, as JSON; one object a line out: `{"path", "name"}`, or `{"error"}` with `removed`, `loop` or
`unknown`.
"""

import json
import sys

from ansible.errors import AnsiblePluginCircularRedirect, AnsiblePluginRemovedError
from ansible.plugins.loader import init_plugin_loader, module_loader

init_plugin_loader([])


def look_up(name):
    try:
        found = module_loader.find_plugin_with_context(name)
    except AnsiblePluginRemovedError:
        return {"error": "removed"}
    except AnsiblePluginCircularRedirect:
        return {"error": "loop"}
    except Exception:
        return {"error": "unknown"}
    if not found.resolved or found.plugin_resolved_path is None:
        return {"error": "unknown"}
    return {"path": found.plugin_resolved_path, "name": found.resolved_fqcn, "deprecated": found.deprecated}


for line in sys.stdin:
    print(json.dumps(look_up(json.loads(line))), flush=True)
