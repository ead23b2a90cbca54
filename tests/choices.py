"""Which parameters of a test `make test` tries, where it tries only some."""

from collections.abc import Iterable
from typing import Any

import pytest


def mark_slow_after(number: int, values: Iterable[Any]) -> list[Any]:
    """Return the parameters of a test, of which all after the first few are left to `make test-all`."""
    parameters = [value if isinstance(value, tuple) else (value,) for value in values]
    return [
        pytest.param(*each, marks=pytest.mark.slow if place >= number else ()) for place, each in enumerate(parameters)
    ]
