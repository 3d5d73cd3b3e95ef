"""`wasi:cli/environment`: the working directory of a run that has none."""


def initial_cwd():
    """Returns the directory."""
    return "/tmp"
