#!/usr/bin/env python3
"""Prints the settings of the installed ansible-core as JSON: types, variables, keys, and the values without any configuration."""

import json
import os

for name in list(os.environ):
    if name.startswith("ANSIBLE_") or name in ("EDITOR", "NO_COLOR", "PAGER"):
        del os.environ[name]
os.environ["HOME"] = "/h"
os.chdir("/")

import yaml
from ansible import config, constants


def value(name):
    try:
        # The attributes have the templates in defaults rendered.
        found = getattr(constants, name) if hasattr(constants, name) else constants.config.get_config_value(name)
        json.dumps(found)
        return found
    except Exception:
        return "a value of another kind"


path = os.path.join(os.path.dirname(config.__file__), "base.yml")
with open(path, encoding="utf-8") as file:
    base = yaml.safe_load(file)
settings = {
    name: {
        "type": setting.get("type"),
        "environment": [entry["name"] for entry in setting.get("env") or []],
        "keys": [[entry["section"], entry["key"]] for entry in setting.get("ini") or []],
        "variables": [entry["name"] for entry in setting.get("vars") or []],
        "default": value(name),
    }
    for name, setting in base.items()
}
print(json.dumps(settings))
