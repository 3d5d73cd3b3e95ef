"""Values of messages: JSON with marks for what JSON lacks, see `PythonPlugins` in the crate modbox-template."""

import collections.abc
import datetime

MARK, VALUE = '~', 'v'
MAX_DEPTH = 200
EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)

# What `omit` is before ansible-core 2.19: a text that no play has.
OMIT_TEXT = '__omit_place_holder__modbox'

# The type of texts, which no template engine renders. Before ansible-core 2.19 every text is a template but for marked ones.
try:
    import ansible._internal._templating
    TEXT = str
except ImportError:
    from ansible.utils.unsafe_proxy import AnsibleUnsafeText as TEXT


class Unsupported(Exception):
    """A result that no variable can have; the text is the name of its type."""


class Markers:
    """The undefined values of a call that came from the host, each with its number there."""

    def __init__(self):
        self.known = []

    def decode(self, content):
        number, text = content
        value = undefined(text)
        self.known.append((number, value))
        return value

    def encode(self, value):
        for number, known in self.known:
            if known is value:
                return marked('undefined', number)
        return marked('undefined', str(value._undefined_message))


def undefined(text):
    """Returns the value that fails with a text when it is used."""
    try:
        from ansible._internal._templating._jinja_common import UndefinedMarker
    except ImportError:
        from ansible.template import AnsibleUndefined
        return AnsibleUndefined(hint=text)
    return UndefinedMarker(hint=text, _no_template_source=True)


def omit():
    """Returns the value of `omit`."""
    try:
        from ansible._internal._templating._utils import Omit
    except ImportError:
        return OMIT_TEXT
    return Omit


def marked(kind, value):
    return {MARK: kind, VALUE: value}


def encode(value, markers, depth=0):
    """Returns a value as JSON with marks."""
    if depth > MAX_DEPTH:
        raise ValueError('the result is nested more than %d levels deep' % MAX_DEPTH)
    if value is None or value is True or value is False:
        return value
    if isinstance(value, UNDEFINED):
        return markers.encode(value)
    if isinstance(value, str):
        return marked('omit', None) if value == OMIT_TEXT else str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, (bytes, bytearray)):
        return marked('bytes', bytes(value).decode('latin-1'))
    if isinstance(value, tuple):
        return marked('tuple', [encode(item, markers, depth + 1) for item in value])
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
        return encode_dict(value, markers, depth)
    if isinstance(value, type):
        raise Unsupported(type(value).__name__)
    if isinstance(value, (list, range, collections.abc.Set, collections.abc.Iterator, collections.abc.ValuesView)):
        return [encode(item, markers, depth + 1) for item in value]
    if isinstance(value, collections.abc.Sequence):
        return [encode(item, markers, depth + 1) for item in value]
    if value is omit():
        return marked('omit', None)
    raise Unsupported(type(value).__name__)


def encode_dict(value, markers, depth):
    items = [(key, encode(item, markers, depth + 1)) for key, item in value.items()]
    if all(isinstance(key, str) and key != MARK and is_unicode(key) for key, _ in items):
        return {str.__str__(key): item for key, item in items}
    return marked('dict', [[encode(key, markers, depth + 1), item] for key, item in items])


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


def decode(value, markers):
    """Returns the value of JSON with marks."""
    if isinstance(value, list):
        return [decode(item, markers) for item in value]
    if isinstance(value, str):
        return TEXT(value)
    if not isinstance(value, dict):
        return value
    if MARK not in value:
        return {key: decode(item, markers) for key, item in value.items()}
    kind, content = value[MARK], value[VALUE]
    if kind == 'undefined':
        return markers.decode(content)
    if kind == 'tuple':
        return tuple(decode(item, markers) for item in content)
    if kind == 'dict':
        return {decode(key, markers): decode(item, markers) for key, item in content}
    return DECODERS[kind](content)


def decode_datetime(parts):
    micros, seconds, name = parts
    if seconds is None:
        return EPOCH + micros * MICROSECOND
    offset = datetime.timedelta(seconds=seconds)
    zone = datetime.timezone(offset, name) if name else datetime.timezone(offset)
    return (EPOCH + micros * MICROSECOND + offset).replace(tzinfo=zone)


DECODERS = {
    'bytes': lambda text: text.encode('latin-1'),
    'date': lambda text: datetime.date(*[int(part) for part in text.split('-')]),
    'datetime': decode_datetime,
    'time': lambda micros: (EPOCH + micros * MICROSECOND).time(),
    'timedelta': lambda micros: micros * MICROSECOND,
    'omit': lambda _: omit(),
}
