"""What trials, requests, messages and criteria cost stays within `tests/budgets.toml`: calls are counted, not timed."""

import json
import subprocess
import sys
from collections import Counter

import pytest

from benchmarks.calls import ROOT, Calls, describe_growth, load_budgets

pytestmark = pytest.mark.long
TOLERANCE = 1.02


@pytest.fixture(scope="module")
def counted() -> dict[str, Calls]:
    command = [sys.executable, "-m", "benchmarks.calls", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return {name: Counter(calls) for name, calls in json.loads(done.stdout).items()}


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the budgets are those of Python 3.11")
def test_nothing_costs_more_than_its_budget(counted: dict[str, Calls]) -> None:
    budgets = load_budgets()
    over = [
        f"{name}: {calls.total():.0f} calls, {budgets[name]} are budgeted; grown: {describe_growth(name, calls)}"
        for name, calls in counted.items()
        if calls.total() > budgets.get(name, 0) * TOLERANCE
    ]
    assert not over, "\n".join(over)
    assert budgets.keys() == counted.keys(), budgets.keys() ^ counted.keys()


def test_growth_is_told_by_the_names_of_functions() -> None:
    [name, *_] = load_budgets()
    before = json.loads((ROOT / "tests" / "budgets_functions.json").read_text())[name]
    grown = describe_growth(name, Counter(before | {"events/log.py:LogWriter.append": 100}))
    assert grown.startswith("events/log.py:LogWriter.append +8")
