"""A feed for each test, closed when it is done."""

from collections.abc import Iterator

import pytest

from tests.simulators.hl7.feed import Feed


@pytest.fixture
def feed() -> Iterator[Feed]:
    """Its listener is opened when somebody asks where it is."""
    made = Feed()
    yield made
    made.close()
