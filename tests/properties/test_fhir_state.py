"""A FHIR server against a simple model: the list of versions of each resource."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clerkship.formats.fhir.resource import Resource
from tests.examples import examples
from tests.simulators.fhir.server import BEN, Server, ServerResponse, bundle, entry

IDS = st.sampled_from(["a", "b", "c", "ben"])
NAMES = st.sampled_from(["Abel", "Baker", "Cole"])
VALUES = st.sampled_from(["1", "2", "3"])
SYSTEM = "http://clinic.example/mrn"


def patient(name: str, value: str, id: str = "") -> Resource:
    resource: Resource = {
        "resourceType": "Patient",
        "name": [{"family": name}],
        "identifier": [{"system": SYSTEM, "value": value}],
    }
    return resource | ({"id": id} if id else {})


class Chart(RuleBasedStateMachine):
    """The model: each resource is a list of versions, None where it was deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.server = Server(BEN)
        self.model: dict[str, list[Resource | None]] = {"ben": [BEN]}

    # What is there now, by the model.

    def now(self, id: str) -> Resource | None:
        return self.model.get(id, [None])[-1]

    def meant(self, value: str) -> list[str]:
        return [id for id in self.model if _has(self.now(id), value)]

    def wrote(self, answer: ServerResponse, id: str, resource: Resource, new: bool) -> None:
        assert answer.status == (201 if new else 200), answer.body
        self.keep(id, resource)
        assert answer.headers["ETag"] == f'W/"{len(self.model[id])}"'
        assert _content(answer.json) == _content({**resource, "id": id})

    def keep(self, id: str, resource: Resource | None) -> None:
        self.model.setdefault(id, []).append(None if resource is None else {**resource, "id": id})

    # What an agent does.

    @rule(name=NAMES, value=VALUES)
    def create(self, name: str, value: str) -> None:
        answer = self.server.send("POST", "Patient", patient(name, value))
        assert answer.json["id"] not in self.model
        self.wrote(answer, answer.json["id"], patient(name, value), new=True)

    @rule(name=NAMES, value=VALUES)
    def create_if_none(self, name: str, value: str) -> None:
        results = self.meant(value)
        answer = self.server.send("POST", "Patient", patient(name, value), if_none_exist=f"identifier={SYSTEM}|{value}")
        if not results:
            self.wrote(answer, answer.json["id"], patient(name, value), new=True)
        else:
            assert answer.status == (200 if len(results) == 1 else 412)

    @rule(id=IDS, name=NAMES, value=VALUES)
    def update(self, id: str, name: str, value: str) -> None:
        new = self.now(id) is None
        answer = self.server.send("PUT", f"Patient/{id}", patient(name, value, id))
        self.wrote(answer, id, patient(name, value), new=new)

    @rule(id=IDS, name=NAMES, version=st.integers(1, 6))
    def update_if_match(self, id: str, name: str, version: int) -> None:
        current = len(self.model.get(id, ())) if self.now(id) is not None else 0
        answer = self.server.send("PUT", f"Patient/{id}", patient(name, "1", id), if_match=f'W/"{version}"')
        if version == current:
            self.wrote(answer, id, patient(name, "1"), new=False)
        else:
            assert answer.status == 412

    @rule(name=NAMES, value=VALUES)
    def conditional_update(self, name: str, value: str) -> None:
        results = self.meant(value)
        answer = self.server.send("PUT", f"Patient?identifier={SYSTEM}|{value}", patient(name, value))
        if len(results) > 1:
            assert answer.status == 412
        else:
            self.wrote(answer, results[0] if results else answer.json["id"], patient(name, value), new=not results)

    @rule(id=IDS, name=NAMES, expected=NAMES)
    def patch(self, id: str, name: str, expected: str) -> None:
        before = self.now(id)
        tested = {"op": "test", "path": "/name/0/family", "value": expected}
        answer = self.server.send("PATCH", f"Patient/{id}", [tested, {**tested, "op": "replace", "value": name}])
        if before is None:
            assert answer.status == (410 if id in self.model else 404)
        elif before["name"][0]["family"] != expected:
            assert answer.status == 422
        else:
            changed = {**before, "name": [{**before["name"][0], "family": name}]}
            self.wrote(answer, id, changed, new=False)

    @rule(id=IDS)
    def delete(self, id: str) -> None:
        existing = self.now(id) is not None
        assert self.server.send("DELETE", f"Patient/{id}").status == (204 if existing else 200)
        if existing:
            self.keep(id, None)

    @rule(value=VALUES)
    def conditional_delete(self, value: str) -> None:
        results = self.meant(value)
        answer = self.server.send("DELETE", f"Patient?identifier={SYSTEM}|{value}")
        assert answer.status == (200 if not results else 204 if len(results) == 1 else 412)
        if len(results) == 1:
            self.keep(results[0], None)

    @rule(deleted=IDS, id=IDS, name=NAMES, value=VALUES, fails=st.booleans())
    def transaction(self, deleted: str, id: str, name: str, value: str, fails: bool) -> None:
        entries = [
            entry("PUT", f"Patient/{id}", patient(name, value, id)),
            entry("DELETE", f"Patient/{deleted}"),
            entry("POST", "Patient", patient(name, value)),
            *([entry("GET", "Patient/nobody")] if fails else []),
        ]
        before, events = self.server.state.dump(), len(self.server.events())
        answer = self.server.send("POST", "", bundle("transaction", *entries))
        if fails or deleted == id:
            assert answer.status in (400, 404)
            assert self.server.state.dump() == before
            assert self.server.kinds()[events:] == ["sandbox.refused"]
            return
        self.done(answer, deleted, id, patient(name, value))

    def done(self, answer: ServerResponse, deleted: str, id: str, resource: Resource) -> None:
        existing, new = self.now(deleted) is not None, self.now(id) is None
        statuses = [one["response"]["status"][:3] for one in answer.entries]
        assert statuses == ["201" if new else "200", "204" if existing else "200", "201"]
        if existing:
            self.keep(deleted, None)
        self.keep(id, resource)
        self.keep(answer.entries[2]["response"]["location"].split("/")[1], resource)

    # What it then sees.

    @rule(id=IDS)
    def read(self, id: str) -> None:
        answer, now = self.server.get(f"Patient/{id}"), self.now(id)
        if now is None:
            assert answer.status == (410 if id in self.model else 404)
        else:
            assert _content(answer.json) == _content(now)

    @rule(id=IDS, version=st.integers(1, 8))
    def vread(self, id: str, version: int) -> None:
        versions = self.model.get(id, [])
        answer = self.server.get(f"Patient/{id}/_history/{version}")
        if version > len(versions):
            assert answer.status == 404
        elif versions[version - 1] is None:
            assert answer.status == 410
        else:
            assert _content(answer.json) == _content(versions[version - 1])

    @precondition(lambda self: len(self.model) > 1)
    @rule(count=st.integers(1, 4))
    def history(self, count: int) -> None:
        target, seen = f"Patient/_history?_count={count}", []
        while target:
            page = self.server.get(target)
            seen += [(one["fullUrl"].rpartition("/")[2], one.get("resource")) for one in page.entries]
            links = [link["url"] for link in page.json["link"] if link["relation"] == "next"]
            target = links[0].partition("box.invalid/")[2] if links else ""
        for id, versions in self.model.items():
            results = [_content(resource) for whose, resource in reversed(seen) if whose == id]
            assert results == [_content(version) for version in versions]
        assert len(seen) == sum(map(len, self.model.values()))

    @rule(value=VALUES)
    def search(self, value: str) -> None:
        answer = self.server.get(f"Patient?identifier={SYSTEM}|{value}&_count=1000")
        assert {key.partition("/")[2] for key in answer.keys} == set(self.meant(value))

    @invariant()
    def the_log_rebuilds_it(self) -> None:
        assert self.server.replay_state() == self.server.state.dump()


def _has(resource: Resource | None, value: str) -> bool:
    return resource is not None and resource["identifier"][0]["value"] == value


def _content(resource: Any) -> Any:
    return None if resource is None else {name: value for name, value in resource.items() if name != "meta"}


Chart.TestCase.settings = settings(max_examples=examples(25), stateful_step_count=30, deadline=None)
TestChart = Chart.TestCase
