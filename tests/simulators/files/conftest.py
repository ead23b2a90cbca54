"""Drops that are up over SFTP."""

from collections.abc import Callable, Iterator

import pytest

from clerkship.playground.gateway import Gateway
from clerkship.playground.lines import Lines
from tests.simulators.files.served import Served

Serve = Callable[..., Served]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """As many as a test wants, behind one listener, which is closed when it has what it wants."""
    gateway = Gateway()
    lines = Lines(gateway)
    yield lambda *args, **config: Served(gateway, lines, *args, **config)
    lines.close()
