"""Stands in for the generated bindings, on the files and commands of this machine."""


class Err(Exception):
    """An error of the host."""

    def __init__(self, value):
        super().__init__(value)
        self.value = value
