"""The servers of the live tests, each started once when the first test needs it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clerkship.kit.secrets import new_token
from tests.live import bots


@pytest.fixture(scope="session")
def programs() -> Path:
    """The programs of Rasa. Without them, the tests are skipped with one message."""
    try:
        return bots.ensure_installed()
    except bots.LiveFailed as problem:
        pytest.exit(str(problem), returncode=2)


@pytest.fixture(scope="session")
def desk(programs: Path) -> Iterator[bots.Server]:
    """The order desk, which requires a token or a JWT."""
    token, secret = new_token("token"), new_token("jwt")
    options = ["--auth-token", token, "--jwt-secret", secret]
    with bots.serve(programs, bots.order_desk(programs), options, token) as url:
        yield bots.Server(url, token, secret)


@pytest.fixture(scope="session")
def stock(programs: Path) -> Iterator[bots.Server]:
    """The bot of `rasa init`, without authentication."""
    with bots.serve(programs, bots.stock(programs)) as url:
        yield bots.Server(url)


@pytest.fixture(scope="session")
def empty(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[bots.Server]:
    """A server without a model."""
    home = tmp_path_factory.mktemp("empty")
    (home / "credentials.yml").write_text("rest:\n", encoding="utf-8")
    with bots.serve(programs, home) as url:
        yield bots.Server(url)
