"""The examples are accepted, and every broken variant is refused."""

import pytest

from tests.formats.cds_hooks.broken_examples import BROKEN, EXAMPLES, break_example, find_our_problems, load_example

CASES = [(name, flaw) for name, flaws in BROKEN.items() for flaw in flaws]


def test_each_example_has_broken_variants() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.json")} == BROKEN.keys()


@pytest.mark.parametrize("name", BROKEN)
def test_example_is_accepted(name: str) -> None:
    assert find_our_problems(name, load_example(name)) == []


@pytest.mark.parametrize(("name", "flaw"), CASES)
def test_broken_example_is_refused(name: str, flaw: str) -> None:
    assert find_our_problems(name, break_example(name, flaw)) != []
