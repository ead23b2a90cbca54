"""Fixtures for tests over MLLP."""

from collections.abc import Iterator

import pytest

from tests.simulators.hl7.feed import Feed


@pytest.fixture
def feed() -> Iterator[Feed]:
    """Return a feed; its listener is opened on first use."""
    made = Feed()
    yield made
    made.close()
