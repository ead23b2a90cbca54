"""Drops that are up over SFTP."""

from collections.abc import Callable, Iterator

import pytest

from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool
from tests.simulators.files.served import Served

Serve = Callable[..., Served]


@pytest.fixture
def lines() -> Iterator[ListenerPool]:
    """One listener, which is closed when a test has what it wants."""
    found = ListenerPool(Gateway())
    yield found
    found.close()


@pytest.fixture
def serve(lines: ListenerPool) -> Serve:
    """As many drops as a test wants, behind one listener."""
    return lambda *args, **config: Served(lines._gateway, lines, *args, **config)
