"""A server in a folder of its own, and clients with keys of each kind."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from clerkship.api.app import build_app
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.kit.wall import now
from clerkship.service.serving.server import Server, open_server
from clerkship.settings import Settings


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = open_server(tmp_path / "data", Settings(), build_catalog_without_plugins())
    yield server
    server.close()


@pytest.fixture
def app(server: Server) -> FastAPI:
    return build_app(server)


class Clients(NamedTuple):
    """A client for each kind of key, and one without."""

    person: TestClient
    solver: TestClient
    run: TestClient
    nobody: TestClient


@pytest.fixture
def clients(server: Server, app: FastAPI) -> Iterator[Clients]:
    solver = server.solvers.create("robin", "Robin", "", "")
    secrets = (
        server.keys.create_person("Ada").key,
        server.keys.create_solver_key(solver.id).key,
        server.keys.create_run_token("run-1", now() + timedelta(hours=1), solver.id).key,
    )
    opened = [TestClient(app, headers={"authorization": f"Bearer {secret}"}) for secret in secrets]
    with TestClient(app) as nobody, opened[0], opened[1], opened[2]:
        yield Clients(opened[0], opened[1], opened[2], nobody)
