"""The table of generic assertions matches their classes."""

import pytest

from clerkship.assertions.registry import ASSERTIONS


@pytest.mark.parametrize("name", ASSERTIONS)
def test_entry_matches_the_class(name: str) -> None:
    entry, assertion = ASSERTIONS[name], ASSERTIONS[name].load()
    assert (assertion.name, assertion.aliases, assertion.judged) == (name, entry.aliases, entry.is_judged)
