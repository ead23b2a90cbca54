"""Benchmarks are written over the API: by objects and by files."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from clerkship.service.serving.drafts.packing import pack, unpack
from tests.api.conftest import Clients
from tests.service.serving.drafts.small_suite import FILES

ARCHIVE = {"content-type": "application/gzip"}


@pytest.fixture
def person(clients: Clients) -> TestClient:
    answer = clients.person.put("/v1/benchmarks/office/files", content=pack(FILES), headers=ARCHIVE)
    assert (answer.status_code, answer.json()["warnings"]) == (201, [])
    return clients.person


def get_one(client: TestClient, plural: str, **filters: str) -> dict[str, Any]:
    """Return the one object that a list with filters has."""
    (found,) = client.get(f"/v1/{plural}", params=filters).json()["data"]
    return dict(found)


def test_files_go_up_and_come_down_without_loss(person: TestClient) -> None:
    down = person.get("/v1/benchmarks/office/files")
    assert down.headers["content-disposition"] == 'attachment; filename="office.tar.gz"'
    assert unpack(down.content) == FILES
    etag = {"if-match": down.headers["etag"]}
    assert person.get("/v1/benchmarks/office/files", headers={"if-none-match": etag["if-match"]}).status_code == 304
    changed = pack({**FILES, "README.md": b"# Another\n"})
    assert person.put("/v1/benchmarks/office/files", content=changed, headers=ARCHIVE | etag).status_code == 200
    again = person.put("/v1/benchmarks/office/files", content=changed, headers=ARCHIVE | etag)
    assert (again.status_code, again.json()["code"]) == (412, "PRECONDITION_FAILED")
    assert person.put("/v1/benchmarks/new/files", content=changed, headers=ARCHIVE | etag).status_code == 412


def test_single_files_are_read_written_and_removed(person: TestClient) -> None:
    address = "/v1/benchmarks/office/files/notes/new.txt"
    assert person.put(address, content=b"\x00\xff").json()["benchmark"]["slug"] == "office"
    answer = person.get(address)
    assert (answer.content, answer.headers["content-type"]) == (b"\x00\xff", "application/octet-stream")
    assert person.put(address, content=b"", headers={"if-match": '"x"'}).status_code == 412
    assert person.delete(address, headers={"if-match": answer.headers["etag"]}).status_code == 204
    assert person.get(address).status_code == 404
    for path in ("..%2F..%2Fserver.db", "%2Fetc%2Fpasswd", ".git%2Fconfig"):
        assert person.put(f"/v1/benchmarks/office/files/{path}", content=b"x").status_code in (400, 404)


@pytest.mark.parametrize("plural", ["environments", "simulators", "datasets", "benchmarks", "tasks", "criteria"])
def test_every_object_can_be_sent_back_as_it_was_returned(person: TestClient, plural: str) -> None:
    for found in person.get(f"/v1/{plural}").json()["data"]:
        address = f"/v1/{plural}/{found['id']}"
        answer = person.get(address)
        assert answer.json() == found
        etag = {"if-match": answer.headers["etag"]}
        replaced = person.put(address, json=found, headers=etag)
        assert (replaced.status_code, replaced.json(), replaced.headers["etag"]) == (200, found, etag["if-match"])
        merge = {"content-type": "application/merge-patch+json"}
        assert person.patch(address, content=b"{}", headers=etag | merge).json() == found
        assert person.patch(address, json={}, headers={"if-match": '"other"'}).status_code == 412
        assert person.delete(address, headers={"if-match": '"other"'}).status_code == 412
    assert unpack(person.get("/v1/benchmarks/office/files").content) == FILES


def test_objects_are_filtered_and_paged(person: TestClient) -> None:
    benchmark = get_one(person, "benchmarks", name="Office")
    task = get_one(person, "tasks", name="letter", benchmark_id=benchmark["id"])
    assert len(person.get("/v1/tasks", params={"tag": "count"}).json()["data"]) == 2
    assert person.get("/v1/tasks", params={"benchmark_id": "other"}).json()["data"] == []
    criteria = person.get("/v1/criteria", params={"task_id": task["id"], "limit": 1}).json()
    rest = person.get("/v1/criteria", params={"task_id": task["id"], "cursor": criteria["_meta"]["next"]}).json()
    found = [each["id"] for each in (*criteria["data"], *rest["data"])]
    assert found == [each["id"] for each in reversed(task["criteria"])]
    environment = get_one(person, "environments")
    simulators = person.get("/v1/simulators", params={"environment_id": environment["id"]}).json()["data"]
    assert {each["name"] for each in simulators} == {"drop", "desk"}


def test_a_mistake_is_named_by_its_field_and_changes_nothing(person: TestClient) -> None:
    task = get_one(person, "tasks", name="letter")
    criteria = [{"label": "a", "assertion": {"assert": "file-presnt", "path": "x"}}]
    answer = person.patch(f"/v1/tasks/{task['id']}", json={"criteria": criteria})
    assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION_ERROR")
    assert answer.json()["errors"] == [
        {
            "field": "criteria.0.assertion",
            "message": "unknown assertion `file_presnt`",
            "hint": "did you mean `file_present`?",
            "place": "",
        }
    ]
    answer = person.delete(f"/v1/datasets/{get_one(person, 'datasets', name='people')['id']}")
    assert {each["place"] for each in answer.json()["errors"]} == {"office.yml:5:22", "tasks/write.yml:6:29"}
    assert person.get(f"/v1/tasks/{task['id']}").json() == task


def test_entities_are_bound_and_unbound(person: TestClient) -> None:
    address = f"/v1/tasks/{get_one(person, 'tasks', name='letter')['id']}/entities"
    entity = {"id": "other", "dataset": "people", "where": {"town": "Basel"}}
    assert [each["id"] for each in person.post(address, json=entity).json()["entities"]] == ["person", "other"]
    answer = person.post(address, json={**entity, "id": "third", "where": {"town": "Bonn"}})
    assert (answer.status_code, answer.json()["detail"]) == (
        400,
        "`third` matches no record with town 'Bonn' in people; it has 2 records",
    )
    assert person.delete(f"{address}/other").status_code == 200
    assert person.delete(f"{address}/other").status_code == 404
    assert [each["id"] for each in person.get(address).json()["data"]] == ["person"]


def test_a_benchmark_is_created_object_by_object_and_published(clients: Clients) -> None:
    person = clients.person
    environment = person.post("/v1/environments", json={"name": "desk", "description": None}).json()
    link = {"environment_id": environment["id"]}
    simulator = person.post("/v1/simulators", json={**link, "type": "Files", "name": "drop", "config": None})
    assert (simulator.status_code, simulator.json()["kind"]) == (201, "files")
    benchmark = person.post("/v1/benchmarks", json={**link, "name": "Desk work"}).json()
    own = {"benchmark_id": benchmark["id"]}
    assert (
        person.post("/v1/tasks", json={**own, "benchmark_id": "bench_0", "name": "x"}).json()["errors"][0]["field"]
        == "benchmark_id"
    )
    key = {"idempotency-key": "one"}
    body = {**own, "name": "Ask", "task_item": {"instruction": "Ask."}}
    task, again = (person.post("/v1/tasks", json=body, headers=key).json() for _ in range(2))
    assert task == again
    criterion = {"task_id": task["id"], "label": "Yes", "assertion": {"answer_matches": "yes"}}
    assert person.post("/v1/criteria", json=criterion).status_code == 201
    parameters = {**own, "name": "people", "type": "records"}
    uploaded = person.post(
        "/v1/datasets/upload", params=parameters, content=b"name\nAda\n", headers={"content-type": "text/csv"}
    )
    assert (uploaded.status_code, uploaded.json()["folder"]) == (201, "people")
    papers = person.post(
        "/v1/datasets/upload",
        params={**own, "name": "p", "type": "files"},
        content=pack({"a/b.txt": b"x"}),
        headers=ARCHIVE,
    )
    assert papers.status_code == 201
    generated = person.post("/v1/datasets/generate", json={**own, "name": "few", "patients": 2})
    assert generated.json()["generate"] == {"patients": 2, "seed": 7}
    published = person.post(f"/v1/benchmarks/{benchmark['id']}/publish", json={})
    assert (published.status_code, published.json()["id"]) == (201, "desk-work@1")
    assert person.post("/v1/benchmarks/desk-work/publish", json={}).status_code == 200
    person.patch(f"/v1/tasks/{task['id']}", json={"timeout": 30})
    assert person.post("/v1/benchmarks/desk-work/publish", json={}).json()["code"] == "CONFLICT"
    assert person.post("/v1/benchmarks/desk-work/publish", json={"version": 2}).json()["version"] == 2
    assert clients.solver.get("/v1/published/desk-work@2").status_code == 200


@pytest.mark.parametrize(
    ("content", "content_type", "status"),
    [
        (b"not an archive", "application/gzip", 400),
        (b"", "application/gzip", 400),
        (pack({"../a": b""}), "application/gzip", 400),
        (b"{}", "text/html", 415),
    ],
)
def test_what_cannot_be_taken_is_refused(person: TestClient, content: bytes, content_type: str, status: int) -> None:
    headers = {"content-type": content_type}
    parameters = {"benchmark_id": "office", "name": "x", "type": "files"}
    assert person.post("/v1/datasets/upload", params=parameters, content=content, headers=headers).status_code == status
    if status == 400:
        assert person.put("/v1/benchmarks/office/files", content=content, headers=headers).status_code == 400
