"""Scenarios of `slurp`."""

PROMISED = ["content", "encoding", "source"]

SCENARIOS = [
    {"files": {"f": "hi\n"}, "arguments": {}, "path": "src"},
    {"files": {"f": "hi\n"}, "arguments": {}},
    {"files": {"f": ""}, "arguments": {}},
    {"bytes": {"f": "00ff80"}, "arguments": {}},
    {"files": {}, "arguments": {}},
    {"files": {}, "folders": ["f"], "arguments": {}},
    {"files": {"g": "hi"}, "links": {"f": "g"}, "arguments": {}},
    {"files": {"f": "hi"}, "arguments": {"unknown": 1}},
]
