"""Read one environment variable that a run sets for its programs, without the table of settings, which takes longer."""

import os


def read_variable(name: str) -> str:
    """Return the value of an environment variable; empty if it is not set."""
    return os.environ.get(name, "")
