"""`modbox:host/system-log`, by a list."""

MESSAGES = []


def add(priority, tag, text):
    """Keeps a message."""
    MESSAGES.append((priority, tag, text))
    return True
