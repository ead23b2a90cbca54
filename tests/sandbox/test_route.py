"""Route matching, and refusals of unknown paths and methods."""

import pytest

from clerkship.sandbox.request import Refusal, Reply, Request
from clerkship.sandbox.route import find_route
from tests.raw_routes import RawCall, raw_route


def handler(call: RawCall) -> Reply:
    return Reply(204)


ROUTES = (
    raw_route("GET", "/notes", "list", handler),
    raw_route("POST", "/notes", "write", handler),
    raw_route("GET", "/{room}", "enter", handler),
    raw_route("GET", "/files/{path*}", "read", handler),
    raw_route("DELETE", "/notes/{id}", "forget", handler),
)


def find_operation_name(method: str, path: str) -> str:
    return find_route(ROUTES, Request(method, path))[0].operation.name


def test_get_route_also_answers_head_and_a_trailing_slash() -> None:
    assert (
        find_operation_name("HEAD", "/notes")
        == find_operation_name("GET", "/notes")
        == find_operation_name("GET", "/notes/")
        == "list"
    )
    assert find_operation_name("HEAD", "/notes/") == "list"
    route, params = find_route(ROUTES, Request("GET", "/files/a/"))
    assert (route.operation.name, params) == ("read", {"path": "a/"})
    with pytest.raises(Refusal, match="no route for /notes//"):
        find_operation_name("GET", "/notes//")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/notes", "GET, HEAD, POST"),
        ("PUT", "/notes/", "GET, HEAD, POST"),
        ("HEAD", "/notes/1", "DELETE"),
        ("GET", "/notes/1", "DELETE"),
    ],
)
def test_method_that_is_not_allowed_is_refused_with_each_allowed_one(method: str, path: str, allow: str) -> None:
    with pytest.raises(Refusal) as refused:
        find_operation_name(method, path)
    assert (refused.value.status, refused.value.headers) == (405, {"Allow": allow})
    assert refused.value.reason == f"{method} is not allowed here (allowed: {allow})"
