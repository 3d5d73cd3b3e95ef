#!/usr/bin/env python3
"""Compares modbox's YAML with ansible-core's own loader, whose API this calls.

    VENV/bin/python tests/oracle/yaml/compare.py [--seed N] [--generated N] [--damaged N] [--archive FILE]… FILTER [ARG…]

FILTER is the program `runner/plays/yaml/examples/load.rs`. The texts are those of `cases.py`, those that `generate.py` makes, all YAML files
in the archives (tar or zip), and damaged copies of those files. Each difference is printed; the exit status is 1 if there is one.

What is compared: the type, the value, the line and the column of each node and key, the order of keys, whether text may be a template,
the warnings, and whether there is an error. The exceptions, each as narrow as it can be, with its reason:

1. a node that contains itself, or is merged into itself: Python has such objects, modbox refuses them;
2. null, booleans and everything in JSON have no position in ansible-core: modbox has one;
3. the items of `!!set` have no order in Python: they are compared sorted;
4. bytes and encrypted text as keys: modbox refuses them;
5. an alias within `!unsafe` to text outside: ansible-core makes the text once, as data or not, by the order in which it makes
   collections; in modbox it is data there, and what it is where it is written;
6. ansible-core warns of a key once for each place where a merge inserts it, and its display shows equal warnings once: they are
   compared as a set, those of nodes without a position by their words only, and those of dates without the date;
7. the words of errors are modbox's own: only whether there is one is compared;
8. an integer of more than 4300 digits, which Python makes but does not print: modbox refuses it;
9. names of characters in `key=value` (`\\N{DASH}`) and surrogates: modbox refuses them.
"""

import argparse
import datetime
import json
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import yaml
from ansible._internal._datatag._tags import Origin, TrustedAsTemplate
from ansible._internal._yaml import _constructor
from ansible.parsing.splitter import parse_kv
from ansible.parsing.utils.yaml import from_yaml
from ansible.parsing.vault import EncryptedString

import cases
import generate

WARNED = []
FILE = "x"


class Refused(Exception):
    """Something that modbox refuses on purpose; see the exceptions above."""


class Display:
    """Takes the place of ansible-core's display."""

    @staticmethod
    def warning(msg, obj=None, help_text=None, **_):
        WARNED.append((f"{msg} {help_text}", *position(obj)))

    @staticmethod
    def deprecated(msg, obj=None, help_text=None, **_):
        WARNED.append((f"{msg} {help_text}", *position(obj)))


_constructor.display = Display


def position(obj):
    origin = obj if isinstance(obj, Origin) else Origin.get_tag(obj)
    return (origin.line_num, origin.col_num) if origin and origin.line_num else (None, None)


def typed(value, above=()):
    """Returns a node in the form of the filter's answers."""
    if id(value) in above:
        raise Refused("recursion")
    above = (*above, id(value))
    kind, content = plain(value, above)
    return [kind, content, *position(value)]


def plain(value, above):
    if isinstance(value, EncryptedString):
        return "vault", value._ciphertext
    if isinstance(value, str):
        return "str" if TrustedAsTemplate.is_tagged_on(value) else "unsafe", str(value)
    if isinstance(value, dict):
        if any(isinstance(key, (bytes, EncryptedString)) for key in value):
            raise Refused("key")
        return "dict", [[typed(key, above), typed(item, above)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return "list", [typed(item, above) for item in value]
    if isinstance(value, set):
        return "set", sorted((typed(item, above) for item in value), key=repr)
    if isinstance(value, bytes):
        return "bytes", value.hex()
    if isinstance(value, datetime.date):
        return "date", value.isoformat()
    try:
        return {bool: "bool", type(None): "NoneType"}.get(type(value)) or native(value), repr(value)
    except ValueError:
        raise Refused("digits") from None


def native(value):
    return "int" if isinstance(value, int) else "float"


def original(question):
    """Returns ansible-core's answer."""
    WARNED.clear()
    tag = lambda text: TrustedAsTemplate().tag(Origin(path=f"/{FILE}", line_num=1, col_num=1).tag(text))
    try:
        if "key_values" in question:
            value = parse_kv(tag(question["key_values"]), check_raw=question["free_form"])
        else:
            value = from_yaml(TrustedAsTemplate().tag(Origin(path=f"/{FILE}").tag(question["text"])))
        return {"value": typed(value), "warnings": list(WARNED)}
    except Refused as error:
        return {"refused": str(error)}
    except RecursionError:
        return {"refused": "recursion"}
    except Exception as error:
        return {"error": f"{error} {error.__cause__}"}


def different(question, theirs, ours):
    """Returns what differs; an empty text if nothing does."""
    if "panic" in ours:
        return "no answer"
    if "refused" in theirs or "error" in theirs:
        return "" if "error" in ours else f"expected an error: {theirs}"
    if "error" in ours:
        return refused(question, theirs, ours)
    where = node_differs(theirs["value"], ours["value"], "", Trust(question.get("text", "")))
    if where or "key_values" in question:
        return where
    seen, got = ({(dateless(words), *place) for words, *place in answer["warnings"]} for answer in (theirs, ours))
    if any(warning[1] is None for warning in seen):
        seen, got = {warning[0] for warning in seen}, {warning[0] for warning in got}
    return "" if seen == got or len(ours["warnings"]) == 100 else f"warnings {sorted(seen ^ got, key=repr)}"


def dateless(words):
    """Returns a warning without the words of a date, which Python writes as a call."""
    return re.sub(r"key (datetime\..*\)|\d{4}-\d\d-\d\d[^ ]*)\. ", "key DATE. ", words)


class Trust:
    """Which text of a document is written within `!unsafe`, and whether an alias is."""

    def __init__(self, text):
        self.unsafe, self.has_alias, depth = set(), False, 0
        if "!unsafe" not in text:
            return
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if depth or getattr(event, "tag", None) == "!unsafe":
                depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
                self.unsafe.add((event.start_mark.line + 1, event.start_mark.column + 1))
                self.has_alias |= isinstance(event, yaml.AliasEvent)

    def allows(self, kind, our_kind, our_place):
        """Whether kinds may differ: text is data or not by the order in which ansible-core makes collections."""
        if not self.has_alias or {kind, our_kind} != {"str", "unsafe"}:
            return False
        return our_kind == "unsafe" or tuple(our_place) not in self.unsafe


def refused(question, theirs, ours):
    """Returns an empty text if modbox refuses on purpose what ansible-core accepts."""
    if "key_values" in question and "invalid escape sequence" in ours["error"]:
        return "" if re.search(r"\\N\{|\\u[dD][89a-fA-F]|\\U0000[dD][89a-fA-F]", question["key_values"]) else ours["error"]
    if "contains itself" in ours["error"] and "<<" in question.get("text", ""):
        return ""
    return f"unexpected error: {ours['error']}"


def node_differs(theirs, ours, path, trust):
    kind, content, *place = theirs
    our_kind, our_content, *our_place = ours
    if kind == "set" and our_kind == "list":
        without = lambda items: sorted((item[:2] for item in items), key=repr)
        return "" if without(content) == without(our_content) else f"{path}: {content} {our_content}"
    if kind != our_kind and not trust.allows(kind, our_kind, our_place):
        return f"{path}: type {theirs[:2]} is {ours[:2]}"
    if place != [None, None] and place != our_place:
        return f"{path}: position {place} of {str(content)[:60]!r} is {our_place}"
    if kind not in ("list", "dict"):
        return "" if content == our_content else f"{path}: {content!r} is {our_content!r}"
    if len(content) != len(our_content):
        return f"{path}: {len(content)} items are {len(our_content)}"
    for index, (one, other) in enumerate(zip(content, our_content)):
        pairs = zip(one, other) if kind == "dict" else [(one, other)]
        for a, b in pairs:
            found = node_differs(a, b, f"{path}/{one[0][1] if kind == 'dict' else index}", trust)
            if found:
                return found
    return ""


def texts_of(archive):
    """Yields name and text of each YAML file in an archive."""
    ends = (".yml", ".yaml")
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            files = [(name, opened.read(name)) for name in opened.namelist() if name.endswith(ends)]
    else:
        with tarfile.open(archive) as opened:
            members = [member for member in opened if member.isfile() and member.name.endswith(ends)]
            files = [(member.name, opened.extractfile(member).read()) for member in members]
    for name, content in files:
        try:
            yield name, content.decode()
        except UnicodeDecodeError:
            continue


def answers(command, questions):
    """Returns the filter's answers; a question that ends the filter has none."""
    with tempfile.TemporaryFile("w+") as lines:
        lines.writelines(json.dumps(question) + "\n" for question in questions)
        lines.seek(0)
        done = subprocess.run(command, stdin=lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    answered = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answered) == len(questions):
        return answered
    print(done.stderr.decode(errors="replace")[-2000:])
    rest = questions[len(answered) + 1:]
    return answered + [{"panic": True}] + (answers(command, rest) if rest else [])


def questions_of(options):
    files = [file for archive in options.archive for file in texts_of(archive)]
    numbers = random.Random(options.seed)
    yield from ((f"case {text!r}", {"text": text}) for text in cases.TEXTS)
    for text in cases.ARGUMENTS:
        yield from ((f"arguments {text!r}", {"key_values": text, "free_form": free_form}) for free_form in (False, True))
    yield from ((name, {"text": text}) for name, text in files)
    for text in generate.texts(numbers, options.generated):
        yield f"generated {text!r}", {"text": text}
    for text in generate.arguments(numbers, options.generated // 4):
        yield f"arguments {text!r}", {"key_values": text, "free_form": numbers.random() < 0.5}
    short = [text for _, text in files if len(text) < 4000] or cases.TEXTS
    for text in generate.damages(numbers, short, options.damaged):
        yield f"damaged {text!r}", {"text": text}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--generated", type=int, default=2000)
    parser.add_argument("--damaged", type=int, default=2000)
    parser.add_argument("--archive", action="append", default=[])
    parser.add_argument("--show", type=int, default=40)
    parser.add_argument("filter", nargs="+")
    options = parser.parse_args()
    started = time.monotonic()
    named = list(questions_of(options))
    ours = answers(options.filter, [question for _, question in named])
    found = errors = 0
    for (name, question), answer in zip(named, ours, strict=True):
        theirs = original(question)
        errors += "error" in theirs
        difference = different(question, theirs, answer)
        if difference:
            found += 1
            if found <= options.show:
                print(f"{name[:600]}\n    {difference[:600]}")
    seconds = time.monotonic() - started
    print(f"seed {options.seed}: {len(named)} compared, {found} different, {errors} errors in both, {seconds:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
