"""Every route with every kind of key and with none, as the table of access says, which the reference shows."""

import re
from datetime import timedelta

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from clerkship.api.authorization import ACCESS
from clerkship.api.routing import GuardedRoute
from clerkship.kit.wall import now
from clerkship.service.serving.server import Server
from tests.api.conftest import Clients

KINDS = ("person", "solver", "run")
PROBE = {"probe": True}
"""A body that no route takes: what is allowed is refused because of it, and changes nothing."""


def _list_routes(app: FastAPI) -> list[str]:
    return [
        f"{method} {route.path}"
        for route in app.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    ]


def test_table_has_every_route_and_nothing_else(app: FastAPI) -> None:
    routes = _list_routes(app)
    assert sorted(routes) == sorted(ACCESS)
    others = {route.path for route in app.routes if not isinstance(route, GuardedRoute)}  # type: ignore[attr-defined]
    assert others == {"/view", "/view/{path:path}"}, "a route that does not check keys; the viewer has sessions"


def test_each_route_admits_the_kinds_of_keys_of_the_table(clients: Clients) -> None:
    wrong = []
    for route, access in ACCESS.items():
        method, path = route.split()
        address = re.sub(r"\{\w+\}", "unknown", path)
        for kind in KINDS:
            status = getattr(clients, kind).request(method, address, json=PROBE).status_code
            extent = getattr(access, kind)
            refused = status == 403
            hidden = extent == "own" and "{" in path and status not in (400, 404)
            if status in (401, 500) or refused != (extent == "no") or hidden:
                wrong.append((route, kind, extent, status))
    assert wrong == []


def test_each_route_but_public_ones_refuses_requests_without_a_key(clients: Clients) -> None:
    wrong = []
    for route, access in ACCESS.items():
        method, path = route.split()
        address = re.sub(r"\{\w+\}", "unknown", path)
        for header in (None, "Bearer ", "Bearer clk_unknown", f"Bearer clk_{'A' * 43}", "Basic YTpi", "nonsense"):
            headers = {"authorization": header} if header is not None else {}
            answer = clients.nobody.request(method, address, json=PROBE, headers=headers)
            expected = 200 if access.public else 401
            if answer.status_code != expected or (
                not access.public and "Bearer" not in answer.headers["www-authenticate"]
            ):
                wrong.append((route, header, answer.status_code))
    assert wrong == []


@pytest.mark.parametrize("kind", KINDS)
def test_revoked_and_expired_keys_are_refused(
    kind: str, server: Server, clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    client: TestClient = getattr(clients, kind)
    assert client.get("/v1/published").status_code == (403 if kind == "run" else 200)
    (key,) = server.keys.list(kind=kind).items  # type: ignore[arg-type]
    server.keys.revoke(key.id)
    answer = client.get("/v1/published")
    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED")

    expiring = server.keys.create_person("Ada", now() + timedelta(minutes=1)).key
    headers = {"authorization": f"Bearer {expiring}"}
    assert client.get("/v1/keys", headers=headers).status_code == 200
    later = now() + timedelta(minutes=2)
    monkeypatch.setattr("clerkship.service.serving.keys.now", lambda: later)
    assert client.get("/v1/keys", headers=headers).status_code == 401


def test_solver_key_reads_its_own_solver_alone(server: Server, clients: Clients) -> None:
    (own,) = server.solvers.list().items
    other = server.solvers.create("other", "", "", "")
    assert clients.solver.get(f"/v1/solvers/{own.id}").json()["alias"] == "robin"
    hidden, missing = (clients.solver.get(f"/v1/solvers/{each}") for each in (other.id, "sol_none"))
    assert hidden.status_code == missing.status_code == 404
    assert hidden.json()["code"] == missing.json()["code"] == "NOT_FOUND"


def test_key_of_another_solver_is_not_revoked_under_this_one(server: Server, clients: Clients) -> None:
    (own,) = server.solvers.list().items
    other = server.solvers.create("other", "", "", "")
    key = server.keys.create_solver_key(other.id)
    for address in (f"/v1/solvers/{own.id}/api-keys/{key.id}", f"/v1/solvers/{own.id}/api-keys/{_person(server)}"):
        assert clients.person.delete(address).status_code == 404
    assert server.keys.find(key.key) is not None


def _person(server: Server) -> str:
    return server.keys.list(kind="person").items[0].id
