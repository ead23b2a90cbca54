"""Fixtures for organizations over SMTP."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool
from tests.simulators.messages.email.served import SmtpClinic

Serve = Callable[..., SmtpClinic]


@pytest.fixture
def pool() -> Iterator[ListenerPool]:
    """Return one listener pool, which is closed after the test."""
    pool = ListenerPool(Gateway())
    yield pool
    pool.close()


@pytest.fixture
def serve(pool: ListenerPool) -> Iterator[Serve]:
    """Return a function that opens organizations behind one listener."""
    clinics: list[SmtpClinic] = []

    def open_clinic(*args: Any, **config: Any) -> SmtpClinic:
        clinics.append(SmtpClinic(pool._gateway, pool, *args, **config))
        return clinics[-1]

    yield open_clinic
    for clinic in clinics:
        for client in clinic.clients:
            client.close()


@pytest.fixture
def clinic(serve: Serve) -> SmtpClinic:
    """Return one organization."""
    return serve()
