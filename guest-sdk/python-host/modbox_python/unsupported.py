"""The error of a function that the sandbox does not have.

A function that is missing raises this error. It never returns a made-up value: a module would act on it.
"""

import errno

from modbox_python import errors

_raised = []


class Unsupported(OSError):
    """A module called a function that the sandbox does not have."""

    def __init__(self, name):
        _raised.append(name)
        message = "this module needs %s, which the sandbox does not have; run it with a native Python" % name
        super().__init__(errors.Number(errno.ENOSYS), message)
        self.name = name

    def __str__(self):
        return self.strerror


def raised():
    """Returns the names of the functions that were called in this run, the first one first, each once."""
    return list(dict.fromkeys(_raised))


def refuse(name):
    """Returns a function that raises `Unsupported` for the function of this name."""

    def refused(*_args, **_kwargs):
        raise Unsupported(name)

    refused.is_refused = True
    refused.__name__ = refused.__qualname__ = name.rsplit(".", 1)[-1]
    return refused
