"""Fixtures for faxes through the Sinch API."""

from collections.abc import Iterator

import pytest

from tests.simulators.fax.sinch.clinic import FaxAgent, FaxingClinic


@pytest.fixture
def clinic() -> Iterator[FaxingClinic]:
    opened = FaxingClinic()
    yield opened
    opened.close()


@pytest.fixture
def agent() -> Iterator[FaxAgent]:
    opened = FaxAgent()
    yield opened
    opened.close()
