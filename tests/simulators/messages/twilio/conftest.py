"""Fixtures for text messages through the Twilio API."""

from collections.abc import Iterator

import pytest

from tests.simulators.messages.twilio.clinic import TextingClinic


@pytest.fixture
def clinic() -> Iterator[TextingClinic]:
    opened = TextingClinic()
    yield opened
    opened.close()
