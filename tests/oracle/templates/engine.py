"""What ansible-core makes of templates, expressions and conditions, by its own `TemplateEngine`."""

import warnings

warnings.simplefilter("ignore")

import yaml

from ansible._internal._datatag._tags import TrustedAsTemplate
from ansible._internal._templating._engine import TemplateEngine
from ansible.errors import AnsibleValueOmittedError
from ansible.module_utils._internal._datatag import AnsibleTagHelper
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.yaml.loader import AnsibleLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.utils.display import Display

init_plugin_loader([])
LOADER = DataLoader()
for quiet in ("warning", "deprecated", "error_as_warning", "display"):
    setattr(Display, quiet, lambda *args, **kwargs: None)


def plain(value):
    """Returns a value without the tags of ansible-core, so that `repr` is that of Python's own types."""
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return AnsibleTagHelper.as_native_type(value)


def load(text):
    """Reads YAML that the author of a play wrote, whose strings are trusted."""
    return yaml.load(TrustedAsTemplate().tag(text), Loader=AnsibleLoader)


def answer(case):
    """Returns `{"value"}` with Python's `repr` of the result, or `{"error"}` with a message."""
    engine = TemplateEngine(LOADER, variables=load(case["variables"]) or {})
    text = load(case["text"])
    try:
        if case["kind"] == "condition":
            result = engine.evaluate_conditional(text)
        elif case["kind"] == "expression":
            result = engine.evaluate_expression(text)
        else:
            result = engine.template(text)
        return {"value": repr(plain(result))}
    except AnsibleValueOmittedError:
        return {"error": "A template was resolved to an Omit scalar."}
    except Exception as error:
        return {"error": str(error) or type(error).__name__}
