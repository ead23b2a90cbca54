"""Histories of a resource, of a type and of the server."""

from collections.abc import Sequence

import pytest

from clerkship.simulators.fhir.state import FhirState, ResourceVersion
from tests.simulators.fhir.server import ADA, BASE, BEN, Server, ServerResponse


def follow_pages(server: Server, answer: ServerResponse) -> list[ServerResponse]:
    """Return a page and all that follow it."""
    pages = [answer]
    while links := [link["url"] for link in pages[-1].json["link"] if link["relation"] == "next"]:
        pages.append(server.get(links[0].removeprefix(f"{BASE}/")))
    return pages


def build_changed_server() -> Server:
    """Return a server with some changes."""
    server = Server()
    server.send("PUT", "Patient/ada", {**ADA, "active": True})
    server.send("DELETE", "Patient/ada")
    server.send("PUT", "Patient/ada", ADA)
    server.send("PATCH", "Patient/ben", [{"op": "add", "path": "/active", "value": True}])
    return server


def test_instance_history_lists_versions_newest_first() -> None:
    answer = build_changed_server().get("Patient/ada/_history")
    asked = [(entry["request"]["method"], entry["request"]["url"]) for entry in answer.entries]
    assert asked == [("PUT", "Patient/ada"), ("DELETE", "Patient/ada"), ("PUT", "Patient/ada"), ("POST", "Patient")]
    assert [entry["response"]["status"] for entry in answer.entries] == ["201", "204", "200", "201"]
    assert [entry["response"]["etag"] for entry in answer.entries] == ['W/"4"', 'W/"3"', 'W/"2"', 'W/"1"']
    assert ["resource" in entry for entry in answer.entries] == [True, False, True, True]
    assert answer.json["type"] == "history"
    assert answer.json["total"] == 4
    assert {entry["fullUrl"] for entry in answer.entries} == {f"{BASE}/Patient/ada"}


def test_history_of_unknown_resource_is_404() -> None:
    assert Server().get("Patient/zoe/_history").status == 404


@pytest.mark.parametrize(("target", "total"), [("Patient/_history", 6), ("_history", 8), ("Observation/_history", 1)])
def test_history_pages_are_stable_during_writes(target: str, total: int) -> None:
    server = build_changed_server()
    whole = server.get(target)
    assert whole.json["total"] == total
    assert len(whole.entries) == total
    first = server.get(f"{target}?_count=2")
    server.send("PATCH", "Patient/ben", [{"op": "replace", "path": "/active", "value": False}])
    pages = follow_pages(server, first)
    paged = [entry for page in pages for entry in page.entries]
    assert [len(page.entries) for page in pages][:-1] == [2] * (len(pages) - 1)
    assert paged == whole.entries


def test_history_filters_by_since_and_at() -> None:
    server = build_changed_server()
    moments = [entry["response"]["lastModified"] for entry in server.get("Patient/ada/_history").entries]
    latest = server.get(f"Patient/ada/_history?_since={moments[0]}")
    assert [entry["response"]["etag"] for entry in latest.entries] == ['W/"4"']
    current = server.get("Patient/ada/_history?_at=2026-02")
    assert [entry["response"]["etag"] for entry in current.entries] == ['W/"1"']
    both = server.get("Patient/_history?_at=2026-01-01")
    assert [entry["resource"]["id"] for entry in both.entries] == ["ada"]
    assert server.get("Patient/_history?_since=2026-03&_count=1").json["total"] == 4
    assert len(follow_pages(server, server.get("Patient/_history?_since=2026-03&_count=1"))) == 4


@pytest.mark.parametrize(
    "query", ["_since=yesterday", "_count=many", "_at=2026-13", "_cursor=x", "_sort=_id", "_since=2026-02-30"]
)
def test_invalid_history_parameters_are_rejected(query: str) -> None:
    server = Server()
    with server.assert_unchanged():
        assert server.get(f"Patient/ada/_history?{query}").status == 400


def test_history_read_is_logged_with_versions() -> None:
    server = Server(BEN)
    server.send("DELETE", "Patient/ben")
    server.get("Patient/_history?_count=1")
    event = server.events()[-1]
    assert (event.kind, event.payload.model_dump()["found"]) == ("fhir.history.read", ("Patient/ben/_history/2",))


def test_history_with_many_pages_is_read_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    for number in range(60):
        server.send("PATCH", "Patient/ada", [{"op": "add", "path": "/multipleBirthInteger", "value": number}])
    seen: list[str] = []
    versions = FhirState.versions

    def counted(self: FhirState, key: str) -> Sequence[ResourceVersion]:
        seen.append(key)
        return versions(self, key)

    monkeypatch.setattr(FhirState, "versions", counted)
    for target in ("Patient/ada/_history", "Patient/_history", "_history"):
        seen.clear()
        answer = server.get(f"{target}?_at=2026&_count=1000")
        assert len(answer.entries) >= 61
        assert seen.count("Patient/ada") <= 2
    assert [entry["response"]["status"] for entry in answer.entries].count("200") == 60
