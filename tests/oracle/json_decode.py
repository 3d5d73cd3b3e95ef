"""What CPython's `json` makes of a text.

A filter: one JSON string a line in, the text to decode; one JSON object a line out, `{"error"}`, or
`{"dumps", "repr"}` of the value. `repr` is null when the value holds a character that this interpreter's
edition of Unicode does not know: such a one it escapes, and a newer edition does not.
"""

import json
import sys
import unicodedata


def main():
    for line in sys.stdin:
        try:
            value = json.loads(json.loads(line))
        except (ValueError, RecursionError) as error:
            print(json.dumps({"error": str(error)}))
        else:
            known = all(unicodedata.category(char) != "Cn" for char in json.dumps(value, ensure_ascii=False))
            print(json.dumps({"dumps": json.dumps(value), "repr": repr(value) if known else None}))


main()
