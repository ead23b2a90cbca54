"""Fixtures for faxes through the Sinch API."""

from collections.abc import Iterator

import pytest

from tests.simulators.agent_server import AgentServer
from tests.simulators.fax.sinch.clinic import FaxingClinic


@pytest.fixture
def clinic() -> Iterator[FaxingClinic]:
    opened = FaxingClinic()
    yield opened
    opened.close()


@pytest.fixture
def agent() -> Iterator[AgentServer]:
    opened = AgentServer()
    yield opened
    opened.close()
