"""Fixtures for drops over SFTP."""

from collections.abc import Callable, Iterator

import pytest

from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool
from tests.simulators.files.served import SftpDrop

Serve = Callable[..., SftpDrop]


@pytest.fixture
def lines() -> Iterator[ListenerPool]:
    """Return one listener pool, which is closed after the test."""
    pool = ListenerPool(Gateway())
    yield pool
    pool.close()


@pytest.fixture
def serve(lines: ListenerPool) -> Serve:
    """Return a function that opens drops behind one listener."""
    return lambda *args, **config: SftpDrop(lines._gateway, lines, *args, **config)
