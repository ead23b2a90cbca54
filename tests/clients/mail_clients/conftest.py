"""An organization over SMTP for third-party mail programs."""

from collections.abc import Iterator

import pytest

from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool
from tests.simulators.messages.email.served import SmtpClinic


@pytest.fixture
def clinic() -> Iterator[SmtpClinic]:
    """Return one organization behind its own listener."""
    pool = ListenerPool(Gateway())
    yield SmtpClinic(pool._gateway, pool)
    pool.close()
