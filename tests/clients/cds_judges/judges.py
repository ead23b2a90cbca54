"""A validator of CDS Hooks that others wrote: healthchain, in an environment of its own."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.clients.cds_judges.disagreements import REQUIRED_BY_JUDGE
from tests.clients.installs import CannotInstall, python_environment

PROGRAMS = Path(__file__).parent / "programs"
MAX_SECONDS = 120
UNSUPPORTED_HOOKS = ("order-dispatch", "appointment-book", "encounter-start")
"""Hooks that healthchain does not have."""


def find_healthchain() -> str:
    """Return the Python that has healthchain; skip the test if it cannot be installed."""
    try:
        return str(python_environment("healthchain", PROGRAMS / "healthchain.txt"))
    except CannotInstall as problem:
        pytest.skip(str(problem))


def healthchain_errors(items: Sequence[tuple[str, Any]]) -> list[list[str]]:
    """Return the errors that healthchain finds in each item, which is a name such as `response-links` and data."""
    command = [find_healthchain(), str(PROGRAMS / "healthchain_validate.py")]
    sent = json.dumps([(name.partition("-")[0], data) for name, data in items])
    done = subprocess.run(command, input=sent, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    errors: list[list[str]] = json.loads(done.stdout)
    assert len(errors) == len(items)
    return errors


def settle(data: Any) -> Any:
    """Return an answer with the fields that only healthchain requires."""
    if isinstance(data, list):
        return [settle(item) for item in data]
    if not isinstance(data, dict):
        return data
    settled = {name: settle(value) for name, value in data.items()}
    for field in REQUIRED_BY_JUDGE:
        items = settled.get(field.list)
        if isinstance(items, list):
            settled[field.list] = [{field.name: False, **item} if isinstance(item, dict) else item for item in items]
    return settled


def is_judged(name: str) -> bool:
    """Return whether healthchain has the hook of an example."""
    return not any(name.endswith(hook) for hook in UNSUPPORTED_HOOKS)
