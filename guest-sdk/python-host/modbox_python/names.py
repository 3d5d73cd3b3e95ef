"""Names of files: bytes on Linux, text in WASI, and text of another form in Python.

The host shows a byte that is not UTF-8 as the character U+10F700 + byte, and a real character of that block as its bytes
in that form. Python has surrogates for such bytes. Both forms have exactly one text for each name.
"""

import os
import re

_FIRST = 0x10F700

# The host's characters for bytes, and what has to be escaped for the host: Python's surrogates and those characters.
_ESCAPED = re.compile("[\U0010F780-\U0010F7FF]+")
_ESCAPES = re.compile("[\udc80-\udcff\U0010F780-\U0010F7FF]")


def _escape(found):
    return "".join(chr(_FIRST + byte) for byte in os.fsencode(found[0]))


def to_host(path):
    """Returns the host's text of a path. Raises, like CPython, `TypeError` for what is none, and `UnicodeEncodeError` for text
    that stands for no bytes."""
    name = os.fspath(path)
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    if name.isascii():
        return name
    # Bytes that together are a character are that character.
    return _ESCAPES.sub(_escape, os.fsdecode(os.fsencode(name)))


def from_host(text):
    """Returns Python's text of a name that the host has told."""
    if text.isascii() or not _ESCAPED.search(text):
        return text
    parts, end = [], 0
    for found in _ESCAPED.finditer(text):
        parts += text[end:found.start()].encode(), bytes(ord(character) - _FIRST for character in found[0])
        end = found.end()
    return os.fsdecode(b"".join([*parts, text[end:].encode()]))
