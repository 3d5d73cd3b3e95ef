"""What ansible-core 2.22 shows in place of values with secrets.

A filter: one JSON object a line in, `{"secrets": [text, ...], "value": dict}`; one JSON object a line out, `{"masked": text}`,
where the text is the JSON of what a callback gets.
"""

import json
import sys

from ansible.module_utils._internal import _secrets, _secrets_object

LINES = {"stdout": "stdout_lines", "stderr": "stderr_lines"}

for line in sys.stdin:
    case = json.loads(line)
    masker = _secrets.SecretMasker()
    _secrets_object._secret_masker = masker
    masker.register_secret_texts(case["secrets"])
    masked = _secrets_object.mask_object(case["value"], lines_keys=LINES)
    print(json.dumps({"masked": json.dumps(masked)}))
