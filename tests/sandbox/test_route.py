"""Which request is which operation, and what HTTP says of those that are none."""

import pytest

from clerkship.sandbox.request import Refusal, Reply, Request
from clerkship.sandbox.route import find_route
from tests.raw_routes import RawCall, raw_route


def handler(call: RawCall) -> Reply:
    """Says nothing."""
    return Reply(204)


ROUTES = (
    raw_route("GET", "/notes", "list", handler),
    raw_route("POST", "/notes", "write", handler),
    raw_route("GET", "/{room}", "enter", handler),
    raw_route("GET", "/files/{path*}", "read", handler),
    raw_route("DELETE", "/notes/{id}", "forget", handler),
)


def operation(method: str, path: str) -> str:
    """The one that is found."""
    return find_route(ROUTES, Request(method, path))[0].operation.name


def test_where_there_is_get_there_is_head_and_a_slash_at_the_end_is_nothing() -> None:
    assert operation("HEAD", "/notes") == operation("GET", "/notes") == operation("GET", "/notes/") == "list"
    assert operation("HEAD", "/notes/") == "list"
    route, params = find_route(ROUTES, Request("GET", "/files/a/"))
    assert (route.operation.name, params) == ("read", {"path": "a/"})
    with pytest.raises(Refusal, match="no route for /notes//"):
        operation("GET", "/notes//")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/notes", "GET, HEAD, POST"),
        ("PUT", "/notes/", "GET, HEAD, POST"),
        ("HEAD", "/notes/1", "DELETE"),
        ("GET", "/notes/1", "DELETE"),
    ],
)
def test_what_is_not_done_says_each_that_is_once(method: str, path: str, allow: str) -> None:
    with pytest.raises(Refusal) as refused:
        operation(method, path)
    assert (refused.value.status, refused.value.headers) == (405, {"Allow": allow})
    assert refused.value.reason == f"{method} is not allowed here (allowed: {allow})"
