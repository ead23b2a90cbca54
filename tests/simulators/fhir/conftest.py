"""Fixtures for tests of the FHIR server."""

from collections.abc import Iterator

import pytest

from tests.simulators.fhir.server import Server


@pytest.fixture
def served() -> Iterator[Server]:
    """A server that can be reached over HTTP; it stops listening after the test."""
    server = Server()
    with server.rig:
        yield server
