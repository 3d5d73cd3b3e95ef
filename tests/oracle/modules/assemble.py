"""Scenarios of `assemble`."""

import os

PROMISED = ["checksum", "md5sum", "src", "dest"]
# The original shows no contents.
IGNORED = ["diff"]

PARTS = {"s/b": "b\n", "s/a": "a", "s/.h": "hidden\n", "s/10": "ten\n", "s/9": "nine\n"}


def case(files=PARTS, **arguments):
    return {"files": files, "arguments": {"src": "s", **arguments}, "path": "dest"}


SCENARIOS = [
    case(),
    case({**PARTS, "f": "old\n"}),
    case({"s/a": "a\n", "f": "a\n"}),
    case(delimiter="--"),
    case(delimiter="--\n"),
    case(delimiter=r"\x41\t\101\q--\n"),
    case(delimiter=""),
    case(regexp=r"^\d+$"),
    case(regexp="nope"),
    case(regexp="("),
    case(ignore_hidden=True),
    case({"s/a": "", "s/b": "b", "s/c": "", "s/d": "d"}, delimiter="-"),
    case({**PARTS, "s/sub/x": "x\n"}),
    case({**PARTS, "f": "old\n"}, backup=True),
    case({"s": "file"}),
    case({}),
    case(unknown=1),
    case({"s/a": "a\n", "f": "a\n"}, mode="0600"),
    case({**PARTS, "f": "old\n"}, mode="0600"),
    case({"s/a": "a\n", "f": "a\n"}, mode="0644"),
    case({**PARTS, "f": "old\n"}, mode="u+x,go="),
    case({**PARTS, "f": "old\n"}, mode="rw"),
    case({**PARTS, "f": "old\n"}, owner=str(os.getuid()), group=str(os.getgid())),
    case({**PARTS, "f": "old\n"}, owner="no-such-user"),
    case({"s/a": "a\n", "f": "a\n"}, group="no-such-group"),
    case(PARTS, mode="0600"),
]
