"""The worker of Python plugins: loads files with filters, tests and lookups, and calls them.

It has ansible-core's controller half to import. `native` or `sandboxed` has its channel to the host, `receive`, `write` and `ask`; a
message is JSON. While a plugin runs, the worker asks the host for variables; the host may call other plugins before it answers.
modbox trusts nothing that comes from here.
"""

import collections.abc
import contextlib
import json
import os
import sys
import tempfile
import types

from jinja2.runtime import Undefined as UNDEFINED

MAX_FRAME = 32 << 20

# Modules that the message that is served imports and that are not there, where the channel's place lists them.
ABSENT = {}

# What Ansible makes a list of while the plugin still runs.
ITERATORS = (
    collections.abc.Iterator, collections.abc.ItemsView, collections.abc.KeysView, collections.abc.ValuesView, range,
)


def data_of(message):
    """Returns a message as bytes; one with an error in its place if it is too long."""
    data = json.dumps(message).encode()
    if len(data) > MAX_FRAME:
        error = 'the result is larger than the limit of %d bytes' % MAX_FRAME
        data = json.dumps({'error': error, 'id': message['id']}).encode()
    return data


def send(message):
    write(data_of(message))


def message_of(error):
    """Returns the text of an exception and of those that it names as its cause, as Ansible shows it."""
    try:
        from ansible._internal._errors._error_utils import format_exception_message
        return format_exception_message(error)
    except ImportError:
        return str(error)


def one_line(error):
    """Returns an exception that a plugin's file raised when it was loaded."""
    return ('%s: %s' % (type(error).__name__, error)).strip().rstrip(':')


def text_of(error, operation):
    """Returns the text of an exception that ended an operation; the name of its type if it has none that can be read."""
    try:
        return str(message_of(error) if operation == 'call' else one_line(error))
    except Exception:
        return type(error).__name__


class Call:
    """A call that runs: its number, its undefined values, and the variables of the template that made it."""

    def __init__(self, plugins, message):
        self.plugins, self.number, self.markers = plugins, message['id'], Markers()
        self.variables = Variables(self)
        arguments = message['arguments']
        self.args = [self.decode(value) for value in arguments['args']]
        self.kwargs = {name: self.decode(value) for name, value in arguments['kwargs'].items()}

    def ask(self, question):
        """Asks the host, and does meanwhile what the host wants done."""
        message = ask({'id': self.number, 'ask': question})
        while 'op' in message:
            self.plugins.serve(message)
            message = receive()
        return message

    def encode(self, value):
        return encode(value, self.markers)

    def decode(self, value):
        return decode(value, self.markers)


class Engine:
    """The template engine of ansible-core that plugins find around them, over the variables of a call."""

    def __init__(self, call, shared):
        from ansible.template import Templar
        self.templar = Templar(loader=shared.loader, variables=call.variables)
        engine = getattr(self.templar, '_engine', None)
        if engine is not None and shared.environment is not None:
            engine._environment = shared.environment
        self.inner, self.shared = engine or self.templar, shared
        self.variables = call.variables

    @property
    def environment(self):
        if self.shared.environment is None:
            environment = self.shared.environment = self.inner.environment
            for (kind, name), function in [*self.shared.configured.items(), *self.shared.own.items()]:
                {'filter': environment.filters, 'test': environment.tests}[kind][name] = function
        return self.shared.environment

    def context(self):
        """Returns the context of a template, as plugins with `pass_context` get it."""
        environment = self.environment
        return environment.context_class(environment, self.variables, None, {})

    @contextlib.contextmanager
    def around(self, accepts_markers):
        """Makes ansible-core believe that a template is rendered, as it is when Ansible calls a plugin."""
        try:
            from ansible._internal._templating._engine import TemplateOptions
            from ansible._internal._templating._jinja_common import JinjaCallContext
            from ansible._internal._templating._utils import TemplateContext
        except ImportError:
            yield
            return
        with TemplateContext(template_value='', templar=self.inner, options=TemplateOptions.DEFAULT):
            with JinjaCallContext(accept_lazy_markers=accepts_markers):
                yield


def lazily(value):
    """Returns a list or dict such that an undefined value in it fails when it is read, as Ansible gives it to plugins."""
    try:
        from ansible._internal._templating._lazy_containers import lazify_container
    except ImportError:
        return value
    return lazify_container(value)


def marker_of(error):
    """Returns the undefined value whose use raised an exception."""
    return getattr(error, 'source', None) if type(error).__name__ == 'MarkerError' else None


class Plugins:
    """The plugins that were loaded, by kind and name."""

    CLASSES = {'filter': ('FilterModule', 'filters'), 'test': ('TestModule', 'tests')}

    def __init__(self, warnings, loader):
        self.own, self.configured = {}, {}
        self.found = {}
        self.warnings = warnings
        self.folders = 0
        self.loader = loader
        self.environment = None

    def serve(self, message):
        """Does what a message wants, and answers."""
        ABSENT.clear()
        try:
            answer = getattr(self, message['op'])(message)
            answer.update(id=message['id'], warnings=self.warnings[:])
            if ABSENT and message['op'] != 'call':
                answer['absent'] = list(ABSENT)
            data = data_of(answer)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            data = data_of({'error': text_of(error, message['op']), 'id': message['id'], 'warnings': self.warnings[:]})
        self.warnings.clear()
        write(data)

    def load(self, message):
        """Runs a file beside the play, and returns the names that it gives."""
        kind, path = message['kind'], message['path']
        stem = os.path.splitext(os.path.basename(path))[0]
        if kind == 'lookup':
            return self.load_lookup(stem, message)
        own = self.configured if message['configured'] else self.own
        class_name, method = self.CLASSES[kind]
        module = types.ModuleType('ansible.plugins.%s.%d_%s' % (kind, len(sys.modules), stem))
        module.__file__ = path
        sys.modules[module.__name__] = module
        exec(compile(message['text'], path, 'exec', dont_inherit=True), module.__dict__)
        made = getattr(getattr(module, class_name)(), method)()
        for name, function in made.items():
            own.setdefault((kind, str(name)), function)
        self.environment = None
        accepting = [str(name) for name, function in made.items() if getattr(function, 'accept_args_markers', False)]
        return {'names': [str(name) for name in made], 'accepting': accepting}

    def load_lookup(self, stem, message):
        """Gives a lookup to ansible-core, which reads its documentation for its options."""
        from ansible.constants import DEFAULT_LOCAL_TMP
        from ansible.plugins.loader import lookup_loader
        # One folder for each, since ansible-core reads a folder once.
        folder = tempfile.mkdtemp(dir=DEFAULT_LOCAL_TMP)
        with open(os.path.join(folder, stem + '.py'), 'w', encoding='utf-8', errors='surrogateescape') as file:
            file.write(message['text'])
        # One of the same name that was loaded before would be taken for it.
        sys.modules.pop('ansible.plugins.lookup.' + stem, None)
        # Folders of settings come after those beside the play and in roles.
        folders = lookup_loader.config if message['configured'] else lookup_loader._extra_dirs
        folders.append(folder)
        lookup_loader._clear_caches()
        try:
            lookup = lookup_loader.get(stem, class_only=True)
        except BaseException:
            folders.remove(folder)
            lookup_loader._clear_caches()
            raise
        return {'names': [stem], 'accepting': [stem] if getattr(lookup, 'accept_args_markers', False) else []}

    def find(self, message):
        """Says whether ansible-core finds a plugin of a collection."""
        name = message['name']
        if message['kind'] == 'lookup':
            from ansible.plugins.loader import lookup_loader
            plugin = lookup_loader.get(name, class_only=True)
            full_name = plugin and lookup_loader.find_plugin_with_context(name).resolved_fqcn
        else:
            plugin = self.of_collection((message['kind'], name))
            full_name = plugin and plugin.ansible_name
        return {'name': plugin and str(full_name or name), 'accepting': getattr(plugin, 'accept_args_markers', False)}

    def of_collection(self, key):
        if key not in self.found:
            from ansible.plugins import loader
            try:
                plugin = getattr(loader, key[0] + '_loader').get(key[1])
            except KeyError:
                # Its word for a collection that is not installed, or lacks the plugin.
                plugin = None
            if plugin is None:
                # A task may install it.
                return None
            self.found[key] = plugin
        return self.found[key]

    def call(self, message):
        key = (message['kind'], message['name'])
        call = Call(self, message)
        engine = Engine(call, self)
        with engine.around(True):
            try:
                return {'value': call.encode(self.result(key, message['own'], call, engine))}
            except Unsupported as error:
                return {'type': str(error)}
            except Exception as error:
                marker = marker_of(error)
                if marker is None:
                    raise
                return {'value': call.encode(marker)}

    def looked_up(self, name, call, engine):
        """Returns what a lookup gives."""
        from ansible.plugins.loader import lookup_loader
        self.loader.set_basedir(call.variables.get('playbook_dir') or '/')
        lookup = lookup_loader.get(name, loader=self.loader, templar=engine.templar)
        if lookup is None:
            raise ValueError('the plugin is not there any more')
        terms = [lazily(value) for value in call.args]
        options = {name: lazily(value) for name, value in call.kwargs.items()}
        with engine.around(getattr(lookup, 'accept_lazy_markers', False)):
            result = lookup.run(terms, variables=call.variables, **options)
            if isinstance(result, str) or not isinstance(result, collections.abc.Sequence):
                raise TypeError('returned %s instead of %s' % (type(result), list))
            return list(result)

    def result(self, key, is_own, call, engine):
        if key[0] == 'lookup':
            return self.looked_up(key[1], call, engine)
        if is_own:
            function = self.own.get(key) or self.configured.get(key)
        else:
            function = getattr(self.of_collection(key), 'j2_function', None)
        if function is None:
            raise ValueError('the plugin is not there any more')
        if call.markers.known:
            call.args = [lazily(value) for value in call.args]
            call.kwargs = {name: lazily(value) for name, value in call.kwargs.items()}
        with engine.around(getattr(function, 'accept_lazy_markers', False)):
            result = function(*self.before(function, engine), *call.args, **call.kwargs)
            return list(result) if isinstance(result, ITERATORS) else result

    def before(self, function, engine):
        """Returns what a plugin wants before its own arguments."""
        wanted = getattr(getattr(function, 'jinja_pass_arg', None), 'name', None)
        if wanted is None:
            return []
        if wanted == 'environment':
            return [engine.environment]
        context = engine.context()
        return [context if wanted == 'context' else context.eval_ctx]


def accept_variables():
    """Lets templates that plugins render have their variables from the host; ansible-core knows its own types alone."""
    try:
        from ansible._internal._templating import _jinja_bits
    except ImportError:
        return
    known = _jinja_bits._flatten_and_lazify_vars

    def layers(mapping):
        yield from [mapping] if isinstance(mapping, Variables) else known(mapping)

    _jinja_bits._flatten_and_lazify_vars = layers


def collect_warnings():
    """Returns a list to which the warnings of ansible-core and of plugins are added."""
    from ansible.utils.display import Display
    warnings = []
    Display().warning = lambda msg, *args, **kwargs: warnings.append(str(msg))
    Display().deprecated = lambda *args, **kwargs: None
    return warnings


def prepared():
    """Returns the worker's plugins, of which it has none yet."""
    from ansible.parsing.dataloader import DataLoader
    accept_variables()
    return Plugins(collect_warnings(), DataLoader())
