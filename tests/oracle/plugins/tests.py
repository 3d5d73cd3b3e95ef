"""Tests of a play."""


def fails(value):
    raise ValueError("a bad value")


class TestModule(object):
    def tests(self):
        return {"three": lambda value: value == 3, "divisible": lambda value, by=2: value % by == 0, "fails": fails,
                "text": lambda value: "no"}
