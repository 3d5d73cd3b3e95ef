"""The worker of Python plugins: loads files with filters and tests, and calls them.

modbox starts it in a room, with ansible-core's controller half to import. Standard input is a socket; a message on it is
JSON behind four bytes of its length, the least significant first. Values in messages have marks for what JSON lacks; see
`PythonPlugins` in the crate modbox-template. modbox trusts nothing that comes from here.
"""

import collections.abc
import datetime
import json
import os
import sys
import types

CHANNEL = os.dup(0)
NULL = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1):
    os.dup2(NULL, stream)

MARK, VALUE = '~', 'v'
MAX_FRAME = 32 << 20
MAX_DEPTH = 200
EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)


class Unsupported(Exception):
    """A result that no variable can have; the text is the name of its type."""


def receive():
    """Returns the next message; ends the process at the end of the stream."""
    length = int.from_bytes(read(4), 'little')
    return json.loads(read(length))


def read(length):
    parts = []
    while length:
        part = os.read(CHANNEL, min(length, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        length -= len(part)
    return b''.join(parts)


def send(message):
    data = json.dumps(message).encode()
    if len(data) > MAX_FRAME:
        error = 'the result is larger than the limit of %d bytes' % MAX_FRAME
        data = json.dumps({'error': error, 'id': message['id']}).encode()
    data = len(data).to_bytes(4, 'little') + data
    while data:
        data = data[os.write(CHANNEL, data):]


def marked(kind, value):
    return {MARK: kind, VALUE: value}


def encode(value, depth=0):
    """Returns a value as JSON with marks."""
    if depth > MAX_DEPTH:
        raise ValueError('the result is nested more than %d levels deep' % MAX_DEPTH)
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, (bytes, bytearray)):
        return marked('bytes', bytes(value).decode('latin-1'))
    if isinstance(value, tuple):
        return marked('tuple', [encode(item, depth + 1) for item in value])
    if isinstance(value, datetime.datetime):
        return encode_datetime(value)
    if isinstance(value, datetime.date):
        return marked('date', datetime.date(value.year, value.month, value.day).isoformat())
    if isinstance(value, datetime.time) and value.tzinfo is None:
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        return marked('time', seconds * 1000000 + value.microsecond)
    if isinstance(value, datetime.timedelta):
        return marked('timedelta', value // MICROSECOND)
    if isinstance(value, collections.abc.Mapping):
        return encode_dict(value, depth)
    if isinstance(value, type):
        raise Unsupported(type(value).__name__)
    if isinstance(value, (list, range, collections.abc.Set, collections.abc.Iterator, collections.abc.ValuesView)):
        return [encode(item, depth + 1) for item in value]
    if isinstance(value, collections.abc.Sequence):
        return [encode(item, depth + 1) for item in value]
    raise Unsupported(type(value).__name__)


def encode_dict(value, depth):
    items = [(key, encode(item, depth + 1)) for key, item in value.items()]
    if all(isinstance(key, str) and key != MARK and is_unicode(key) for key, _ in items):
        return {str.__str__(key): item for key, item in items}
    return marked('dict', [[encode(key, depth + 1), item] for key, item in items])


def is_unicode(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def encode_datetime(value):
    offset = value.utcoffset()
    local = (value.replace(tzinfo=None) - EPOCH) // MICROSECOND
    if offset is None:
        return marked('datetime', [local, None, None])
    name, usual = value.tzname(), datetime.timezone(offset).tzname(None)
    seconds = int(offset.total_seconds())
    return marked('datetime', [local - seconds * 1000000, seconds, None if name == usual else name])


def decode(value):
    """Returns the value of JSON with marks."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if MARK not in value:
        return {key: decode(item) for key, item in value.items()}
    return DECODERS[value[MARK]](value[VALUE])


def decode_datetime(parts):
    micros, seconds, name = parts
    if seconds is None:
        return EPOCH + micros * MICROSECOND
    offset = datetime.timedelta(seconds=seconds)
    zone = datetime.timezone(offset, name) if name else datetime.timezone(offset)
    return (EPOCH + micros * MICROSECOND + offset).replace(tzinfo=zone)


DECODERS = {
    'tuple': lambda items: tuple(decode(item) for item in items),
    'dict': lambda pairs: {decode(key): decode(item) for key, item in pairs},
    'bytes': lambda text: text.encode('latin-1'),
    'date': lambda text: datetime.date(*[int(part) for part in text.split('-')]),
    'datetime': decode_datetime,
    'time': lambda micros: (EPOCH + micros * MICROSECOND).time(),
    'timedelta': lambda micros: micros * MICROSECOND,
}


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


class Plugins:
    """The plugins that were loaded, by kind and name."""

    CLASSES = {'filter': ('FilterModule', 'filters'), 'test': ('TestModule', 'tests')}

    def __init__(self):
        self.own = {}
        self.found = {}
        self.environment = None

    def load(self, message):
        """Runs a file beside the play, and returns the names that it gives."""
        kind, path = message['kind'], message['path']
        class_name, method = self.CLASSES[kind]
        stem = os.path.splitext(os.path.basename(path))[0]
        module = types.ModuleType('ansible.plugins.%s.%d_%s' % (kind, len(sys.modules), stem))
        module.__file__ = path
        sys.modules[module.__name__] = module
        exec(compile(message['text'], path, 'exec', dont_inherit=True), module.__dict__)
        made = getattr(getattr(module, class_name)(), method)()
        for name, function in made.items():
            self.own.setdefault((kind, str(name)), function)
        return {'names': [str(name) for name in made]}

    def find(self, message):
        """Says whether ansible-core finds a plugin of a collection."""
        key = (message['kind'], message['name'])
        return {'found': self.of_collection(key) is not None}

    def of_collection(self, key):
        if key not in self.found:
            from ansible.plugins import loader
            try:
                plugin = getattr(loader, key[0] + '_loader').get(key[1])
            except KeyError:
                # Its word for a collection that is not installed, or lacks the plugin.
                plugin = None
            self.found[key] = plugin and plugin.j2_function
        return self.found[key]

    def call(self, message):
        key = (message['kind'], message['name'])
        function = self.own[key] if message['own'] else self.of_collection(key)
        if function is None:
            return {'error': 'the plugin is not there any more'}
        arguments = message['arguments']
        args = self.before(function) + [decode(value) for value in arguments['args']]
        kwargs = {name: decode(value) for name, value in arguments['kwargs'].items()}
        try:
            return {'value': encode(function(*args, **kwargs))}
        except Unsupported as error:
            return {'type': str(error)}

    def before(self, function):
        """Returns what a plugin wants before its own arguments."""
        wanted = getattr(getattr(function, 'jinja_pass_arg', None), 'name', None)
        if wanted is None:
            return []
        if wanted != 'environment':
            raise ValueError('it wants the variables of the template, which modbox does not give to plugins')
        if self.environment is None:
            from ansible.parsing.dataloader import DataLoader
            from ansible.template import Templar
            templar = Templar(loader=DataLoader(), variables={})
            engine = getattr(templar, '_engine', templar)
            self.environment = engine.environment
        return [self.environment]


def collect_warnings():
    """Returns a list to which the warnings of ansible-core and of plugins are added."""
    from ansible.utils.display import Display
    warnings = []
    Display().warning = lambda msg, *args, **kwargs: warnings.append(str(msg))
    return warnings


def main():
    try:
        from ansible.plugins.loader import init_plugin_loader
        import ansible.plugins.filter.core
        init_plugin_loader()
        warnings = collect_warnings()
    except Exception as error:
        send({'error': one_line(error)})
        return
    plugins = Plugins()
    send({'ready': True})
    os.dup2(NULL, 2)
    while True:
        message = receive()
        operation = message['op']
        try:
            answer = getattr(plugins, operation)(message)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            answer = {'error': message_of(error) if operation == 'call' else one_line(error)}
        answer.update(id=message['id'], warnings=warnings[:])
        warnings.clear()
        send(answer)


main()
