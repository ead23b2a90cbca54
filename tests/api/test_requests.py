"""What holds for every route: problems, pages, ETags, idempotency keys, limits of bodies, ids."""

import io
import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from clerkship.api import routing
from clerkship.api.app import build_app
from clerkship.api.dependencies import encode_cursor
from clerkship.api.observation import log_as_json
from clerkship.model.server_objects import NewApiKey
from clerkship.service.serving.keys import KeyTable
from clerkship.service.serving.server import Server
from tests.api.conftest import Clients

JSON = {"content-type": "application/json"}


def test_problem_names_each_field_with_the_words_of_validate(clients: Clients) -> None:
    answer = clients.person.post("/v1/solvers", json={"alias": "A B", "real_name": 3, "emial": ""})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], problem["code"]) == (400, "VALIDATION_ERROR")
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert problem["errors"] == [
        {"field": "alias", "message": "expected lower-case letters, digits and -, not 'A B'", "hint": "", "place": ""},
        {"field": "real_name", "message": "expected text, not 3", "hint": "quote it if it is text", "place": ""},
        {"field": "emial", "message": "unknown key `emial`", "hint": "", "place": ""},
    ]


@pytest.mark.parametrize(
    ("body", "headers", "status", "detail"),
    [
        (b"{", JSON, 400, "is not JSON"),
        (b"[" * 1_000_000, JSON, 400, "is not JSON"),
        (b'{"name": ' + b"[" * 65 + b"]" * 65 + b"}", JSON, 400, "deeper than 64 levels"),
        (b'{"name": NaN}', JSON, 400, "is not JSON"),
        (b"\xff\xfe", JSON, 400, "is not JSON"),
        (b"", JSON, 400, "has no body"),
        (b'"text"', JSON, 400, "expected a map"),
        (b"{}", {"content-type": "text/plain"}, 415, "text/plain"),
        (b"name=Ada", {"content-type": "application/x-www-form-urlencoded"}, 415, "application/x-www-form"),
        (b"{}", {}, 415, "of no type"),
        (b" " * (routing.MAX_BODY_BYTES + 1), JSON, 413, "more than 2,000,000 bytes"),
        (b"{}", JSON | {"content-length": "9" * 30}, 413, "more than 2,000,000 bytes"),
    ],
)
def test_body_that_is_no_small_json_is_refused(
    body: bytes, headers: dict[str, str], status: int, detail: str, clients: Clients
) -> None:
    answer = clients.person.post("/v1/keys", content=body, headers=headers)
    assert (answer.status_code, detail in answer.json()["detail"]) == (status, True), answer.text


def test_large_body_without_a_length_is_refused_before_all_of_it_is_read(clients: Clients) -> None:
    sent = 0

    def body() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(100):
            sent += 1
            yield b" " * 100_000

    assert clients.person.post("/v1/keys", content=body(), headers=JSON).status_code == 413
    assert sent <= 100


def test_answer_can_be_sent_back_without_what_the_server_sets(clients: Clients) -> None:
    solver = clients.person.post("/v1/solvers", json={"alias": "one", "real_name": "One"}).json()
    again = clients.person.post("/v1/solvers", json=solver | {"alias": "two"})
    assert again.status_code == 201
    assert again.json()["id"] != solver["id"]
    taken = clients.person.post("/v1/solvers", json=solver)
    assert (taken.status_code, taken.json()["code"]) == (409, "CONFLICT")


def test_pages_have_every_object_once_newest_first(server: Server, clients: Clients) -> None:
    for number in range(7):
        server.solvers.create(f"solver-{number}", "", "", "")
    seen, cursor = [], None
    for _ in range(4):
        page = clients.person.get("/v1/solvers", params={"limit": 3} | ({"cursor": cursor} if cursor else {})).json()
        seen += [each["alias"] for each in page["data"]]
        server.solvers.create(f"newer-{len(seen)}", "", "", "")  # what is added meanwhile does not shift the pages
        cursor = page["_meta"]["next"]
        if cursor is None:
            break
    assert seen == [*(f"solver-{number}" for number in reversed(range(7))), "robin"]


@pytest.mark.parametrize(("given", "used"), [(0, 1), (-5, 1), (1000, 100), (10**30, 100), (None, 20)])
def test_limit_of_a_page_is_clamped(given: int | None, used: int, clients: Clients) -> None:
    answer = clients.person.get("/v1/keys", params={} if given is None else {"limit": given})
    assert answer.json()["_meta"]["limit"] == used


@pytest.mark.parametrize(
    "cursor", ["x", "§", "", "a" * 5000, encode_cursor("/v1/solvers", "1"), encode_cursor("/v1/keys", "-1"), "AAAA"]
)
def test_cursor_of_another_list_is_refused(cursor: str, clients: Clients) -> None:
    answer = clients.person.get("/v1/keys", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["errors"][0]["message"][:2]) == (400, "it")


def test_object_is_not_changed_if_it_was_changed_meanwhile(server: Server, clients: Clients) -> None:
    (solver,) = server.solvers.list().items
    address = f"/v1/solvers/{solver.id}"
    first = clients.person.get(address)
    etag = first.headers["etag"]
    assert clients.person.get(address, headers={"if-none-match": etag}).status_code == 304
    changed = clients.person.patch(address, json={"real_name": "R. Robin"}, headers={"if-match": etag})
    assert (changed.status_code, changed.json()["alias"], changed.json()["real_name"]) == (200, "robin", "R. Robin")
    assert changed.headers["etag"] not in (etag, "")
    assert changed.headers["etag"] == clients.person.get(address).headers["etag"]
    late = clients.person.patch(address, json={"real_name": "X"}, headers={"if-match": etag})
    assert (late.status_code, late.json()["code"]) == (412, "PRECONDITION_FAILED")
    assert clients.person.patch(address, json={"real_name": "Y"}, headers={"if-match": "*"}).status_code == 200
    assert clients.person.get(address, headers={"if-none-match": etag}).json()["real_name"] == "Y"


def test_repeated_post_with_an_idempotency_key_has_the_same_answer_and_one_effect(
    server: Server, clients: Clients
) -> None:
    headers = {"idempotency-key": "first"}
    first, again = (clients.person.post("/v1/keys", json={"name": "Bo"}, headers=headers) for _ in range(2))
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert server.keys.find(first.json()["key"]) is not None
    assert [key.name for key in server.keys.list(kind="person").items] == ["Bo", "Ada"]
    other = clients.person.post("/v1/keys", json={"name": "Cy"}, headers=headers)
    assert (other.status_code, "another request" in other.json()["detail"]) == (409, True)
    elsewhere = clients.person.post("/v1/solvers", json={"name": "Bo"}, headers=headers)
    assert elsewhere.status_code == 409


def test_idempotency_key_belongs_to_its_caller_and_refused_requests_do_not_use_it(
    server: Server, clients: Clients, app: FastAPI
) -> None:
    headers = {"idempotency-key": "shared"}
    assert clients.person.post("/v1/keys", json={"nam": "Bo"}, headers=headers).status_code == 400
    mine = clients.person.post("/v1/keys", json={"name": "Bo"}, headers=headers)
    other = TestClient(app, headers={"authorization": f"Bearer {mine.json()['key']}"})
    theirs = other.post("/v1/keys", json={"name": "Bo"}, headers=headers)
    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert mine.json()["id"] != theirs.json()["id"]
    for key in ("", "x" * 256, "a\tb"):
        answer = clients.person.post("/v1/keys", json={"name": "Bo"}, headers={"idempotency-key": key})
        assert answer.status_code == 400


def test_request_that_is_under_way_or_lost_its_answer_is_not_carried_out_again(
    server: Server, clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, leave = threading.Event(), threading.Event()
    create = KeyTable.create_person

    def create_slowly(table: KeyTable, name: str, expires: None = None) -> NewApiKey:
        create(table, name, expires)
        entered.set()
        assert leave.wait(20)
        raise OSError("the process is killed here")

    monkeypatch.setattr(KeyTable, "create_person", create_slowly)
    headers = {"idempotency-key": "k"}
    answers = []
    thread = threading.Thread(
        target=lambda: answers.append(clients.person.post("/v1/keys", json={"name": "Bo"}, headers=headers))
    )
    thread.start()
    assert entered.wait(20)
    under_way = clients.person.post("/v1/keys", json={"name": "Bo"}, headers=headers)
    leave.set()
    thread.join(20)
    lost = clients.person.post("/v1/keys", json={"name": "Bo"}, headers=headers)
    assert [each.status_code for each in (answers[0], under_way, lost)] == [500, 409, 409]
    assert "under way" in under_way.json()["detail"]
    assert "its answer was not kept" in lost.json()["detail"]
    assert [key.name for key in server.keys.list(kind="person").items] == ["Bo", "Ada"]


def test_failure_of_the_server_is_logged_and_not_described(
    server: Server, clients: Clients, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(KeyTable, "list", lambda *_, **__: 1 / 0)
    answer = clients.person.get("/v1/keys", headers={"x-request-id": "mine-1"})
    assert (answer.status_code, answer.json()["code"], answer.json()["request_id"]) == (500, "INTERNAL_ERROR", "mine-1")
    assert "division" not in answer.text
    assert "ZeroDivisionError" in caplog.text
    given = clients.person.get("/v1/keys", headers={"x-request-id": 'a"b\\' + "c" * 100}).headers["x-request-id"]
    assert re.fullmatch(r"req-[0-9a-f]{16}", given)


def test_misspelled_parameter_is_refused_with_the_nearest_one(clients: Clients) -> None:
    answer = clients.person.get("/v1/keys", params={"kinds": "person", "limit": 1})
    assert (answer.status_code, answer.json()["errors"]) == (
        400,
        [{"field": "kinds", "message": "unknown parameter", "hint": "did you mean `kind`?", "place": ""}],
    )


def test_unknown_address_and_method_are_problems(clients: Clients) -> None:
    missing = clients.person.get("/v1/nothing")
    assert (missing.status_code, missing.json()["code"]) == (404, "NOT_FOUND")
    method = clients.person.put("/v1/solvers/sol_x")
    assert (method.status_code, method.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert method.headers["allow"] == "GET, PATCH"


def test_no_key_is_in_the_database_or_the_log(
    server: Server, clients: Clients, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = io.StringIO()
    for name in ("clerkship.server", "uvicorn.error"):
        for attribute in ("handlers", "propagate", "level"):
            monkeypatch.setattr(logging.getLogger(name), attribute, getattr(logging.getLogger(name), attribute))
    log_as_json(log)
    secrets = [
        clients.person.post("/v1/keys", json={"name": "Bo"}, headers={"idempotency-key": "a"}).json()["key"],
        clients.person.headers["authorization"].partition(" ")[2],
        clients.solver.headers["authorization"].partition(" ")[2],
        clients.run.headers["authorization"].partition(" ")[2],
    ]
    clients.person.get(f"/v1/keys/{secrets[0]}")
    monkeypatch.setattr(KeyTable, "get", lambda _, key_id: [][int(key_id)])
    clients.person.get(f"/v1/keys/{secrets[1]}")
    server.close()
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert [secret for secret in secrets if secret.encode() in stored or secret in log.getvalue()] == []
    lines = [orjson.loads(line) for line in log.getvalue().splitlines()]
    assert [line["path"] for line in lines if "path" in line] == ["/v1/keys", "/v1/keys/clk_…", "/v1/keys/clk_…"]
    assert [line["request_id"] for line in lines if "ValueError" in line.get("error", "")] == [lines[-1]["request_id"]]


def test_routes_answer_under_the_prefix_of_a_proxy_that_strips_it_and_of_one_that_does_not(server: Server) -> None:
    client = TestClient(build_app(server, "/tests/clerkship"))
    assert client.get("/tests/clerkship/healthz").json() == client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/tests/healthz").status_code == 404
    assert client.get("/v1/openapi.json").json()["servers"] == [{"url": "/tests/clerkship"}]


def test_readiness_follows_the_server(server: Server, clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clients.nobody.get("/readyz").json() == {"status": "ready"}
    with monkeypatch.context() as patch:
        patch.setattr("clerkship.service.serving.server.FREE_BYTES_NEEDED", 10**18)
        answer = clients.nobody.get("/readyz")
        assert (answer.status_code, "are free on the disk" in answer.json()["detail"]) == (503, True)
    server.is_stopping = True
    answer = clients.nobody.get("/readyz")
    assert (answer.status_code, answer.json()["detail"]) == (503, "the server is stopping")
    assert clients.nobody.get("/healthz").status_code == 200


def test_metrics_count_requests_by_route(server: Server, clients: Clients) -> None:
    for _ in range(3):
        clients.person.get("/v1/keys/unknown")
    clients.nobody.get("/v1/made-up")
    text = clients.person.get("/metrics").text
    labels = 'method="GET",route="/v1/keys/{key_id}"'
    assert f'clerkship_http_requests_total{{{labels},status="404"}} 3' in text
    assert f'clerkship_http_request_seconds_bucket{{{labels},le="+Inf"}} 3' in text
    assert f"clerkship_http_request_seconds_count{{{labels}}} 3" in text
    assert "made-up" not in text
    assert "clerkship_http_requests_under_way 1" in text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+', line) for line in lines)


def test_description_is_openapi_3_1(clients: Clients) -> None:
    document = orjson.loads(clients.nobody.get("/v1/openapi.json").content)
    assert document["openapi"] == "3.1.0"
    operations = [each for path in document["paths"].values() for each in path.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    assert all("422" not in each["responses"] and "500" in each["responses"] for each in operations)
