"""What CPython's `shlex` does, and what ansible-core writes for old-style modules.

A filter: one JSON object a line in, `{"quote": text}`, `{"split": text}` or `{"old_style": dict}`; one a line
out, `{"value"}` or `{"error"}`.
"""

import json
import shlex
import sys


def answer(case):
    if "quote" in case:
        return shlex.quote(case["quote"])
    if "split" in case:
        return shlex.split(case["split"])
    return "".join(f"{key}={shlex.quote(str(value))} " for key, value in case["old_style"].items())


def main():
    for line in sys.stdin:
        try:
            print(json.dumps({"value": answer(json.loads(line))}))
        except ValueError as error:
            print(json.dumps({"error": str(error)}))


main()
