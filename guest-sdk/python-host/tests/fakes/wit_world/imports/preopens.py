"""`wasi:filesystem/preopens`: the directories that a test grants."""

GRANTED = []


def get_directories():
    """Returns the granted directories; the root is always one of them, and is empty."""
    return [(name, name) for name in [*GRANTED, "/"]]
