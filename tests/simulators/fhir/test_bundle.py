"""Batches and transactions."""

import base64
from typing import Any

import pytest

from clerkship.formats.fhir.exact import dumps
from clerkship.formats.fhir.resource import Resource
from tests.simulators.fhir.server import ADA, BASE, BEN, POTASSIUM, Server, bundle, entry, remove_elements

ZOE = {"resourceType": "Patient", "name": [{"family": "Zimmer"}]}
URN = "urn:uuid:61ebe359-bfdc-4613-8bf2-c5e300945f0a"
OTHER = "urn:uuid:88f151c0-a954-468a-88bd-5ae15c08e059"


def build_observation(subject: str) -> Resource:
    return {**remove_elements(POTASSIUM, "id"), "subject": {"reference": subject}}


def statuses(answer: Any) -> list[str]:
    """Return the status code of each entry."""
    return [entry["response"]["status"][:3] for entry in answer.entries]


def read_entry_resource(server: Server, answer: Any, number: int) -> Resource:
    """Return the resource that an entry wrote."""
    return server.get(answer.entries[number]["response"]["location"]).json


def test_entries_refer_to_each_other_by_full_url() -> None:
    server = Server()
    answer = server.send(
        "POST",
        "",
        bundle("transaction", entry("POST", "Observation", build_observation(URN)), entry("POST", "Patient", ZOE, URN)),
    )
    assert (answer.status, answer.json["type"]) == (200, "transaction-response")
    assert statuses(answer) == ["201", "201"]
    patient = read_entry_resource(server, answer, 1)
    assert read_entry_resource(server, answer, 0)["subject"]["reference"] == f"Patient/{patient['id']}"
    assert server.kinds()[:3] == ["fhir.resource.created"] * 2 + ["fhir.bundle.processed"]


def test_entries_may_have_circular_references() -> None:
    server = Server()
    one = {"resourceType": "Patient", "link": [{"other": {"reference": OTHER}, "type": "seealso"}]}
    other = {"resourceType": "Patient", "link": [{"other": {"reference": URN}, "type": "seealso"}]}
    answer = server.send(
        "POST", "", bundle("transaction", entry("POST", "Patient", one, URN), entry("POST", "Patient", other, OTHER))
    )
    first, second = read_entry_resource(server, answer, 0), read_entry_resource(server, answer, 1)
    assert first["link"][0]["other"]["reference"] == f"Patient/{second['id']}"
    assert second["link"][0]["other"]["reference"] == f"Patient/{first['id']}"


def test_all_links_are_rewritten_but_identifiers_are_not() -> None:
    server = Server()
    note = {
        "resourceType": "DocumentReference",
        "status": "current",
        "identifier": [{"system": "urn:ietf:rfc:3986", "value": URN}],
        "text": {
            "status": "generated",
            "div": f'<div xmlns="http://www.w3.org/1999/xhtml"><a href="{URN}">file</a> {URN}</div>',
        },
        "content": [{"attachment": {"url": URN, "title": URN}}],
    }
    file = {"resourceType": "Binary", "contentType": "text/plain", "data": "aGVsbG8="}
    answer = server.send(
        "POST", "", bundle("transaction", entry("POST", "DocumentReference", note), entry("POST", "Binary", file, URN))
    )
    assert answer.status == 200, answer.body
    made = read_entry_resource(server, answer, 0)
    target = f"Binary/{read_entry_resource(server, answer, 1)['id']}"
    assert made["content"][0]["attachment"]["url"] == target
    assert f'<a href="{target}">' in made["text"]["div"]
    assert made["text"]["div"].count(URN) == 1
    assert made["identifier"][0]["value"] == URN


def test_full_url_may_be_of_another_server() -> None:
    server = Server()
    patient = entry("POST", "Patient", ZOE, "https://elsewhere.example/fhir/Patient/23")
    first = entry("POST", "Observation", build_observation("https://elsewhere.example/fhir/Patient/23"))
    second = entry(
        "POST", "Observation", build_observation("Patient/23"), "https://elsewhere.example/fhir/Observation/5"
    )
    answer = server.send("POST", "", bundle("transaction", patient, first, second))
    target = f"Patient/{read_entry_resource(server, answer, 0)['id']}"
    assert [read_entry_resource(server, answer, number)["subject"]["reference"] for number in (1, 2)] == [
        target,
        target,
    ]


def test_conditional_reference_is_resolved() -> None:
    server = Server()
    asks = "Patient?identifier=http://clinic.example/mrn|A-1"
    answer = server.send("POST", "", bundle("transaction", entry("POST", "Observation", build_observation(asks))))
    assert read_entry_resource(server, answer, 0)["subject"]["reference"] == "Patient/ada"
    with server.assert_unchanged():
        none = server.send(
            "POST",
            "",
            bundle("transaction", entry("POST", "Observation", build_observation("Patient?identifier=none"))),
        )
        assert (none.status, none.json["issue"][0]["expression"]) == (412, ["Bundle.entry[0]"])
        several = bundle("transaction", entry("POST", "Observation", build_observation("Patient?_id=ada,ben")))
        assert server.send("POST", "", several).status == 412


def test_transaction_order_is_delete_post_put_get() -> None:
    server = Server()
    answer = server.send(
        "POST",
        "",
        bundle(
            "transaction",
            entry("GET", "Patient?family=zimmer"),
            entry("PUT", "Patient/ben", {**BEN, "active": True}),
            entry("GET", "Patient/ben"),
            entry("POST", "Patient", ZOE),
            entry("DELETE", "Observation/k1"),
        ),
    )
    assert statuses(answer) == ["200", "200", "200", "201", "204"]
    assert answer.entries[0]["resource"]["total"] == 1
    assert answer.entries[2]["resource"]["active"] is True
    assert server.kinds() == [
        "fhir.resource.deleted",
        "fhir.resource.created",
        "fhir.resource.updated",
        "fhir.resources.searched",
        "fhir.resource.read",
        "fhir.bundle.processed",
    ]
    assert server.replay_state() == server.state.dump()


def test_conditional_entries_are_processed() -> None:
    server = Server()
    mrn = "identifier=http://clinic.example/mrn|"
    answer = server.send(
        "POST",
        "",
        bundle(
            "transaction",
            entry("POST", "Patient", ZOE, URN, ifNoneExist=f"{mrn}A-1"),
            entry("POST", "Observation", build_observation(URN)),
            entry("PUT", f"Patient?{mrn}B-2", {**remove_elements(BEN, "id"), "active": True}),
            entry("DELETE", "Observation?code=2823-3"),
        ),
    )
    assert statuses(answer) == ["200", "201", "200", "204"]
    assert read_entry_resource(server, answer, 1)["subject"]["reference"] == "Patient/ada"
    assert server.get("Patient/ben").json["active"] is True
    twice = {"resourceType": "Patient", "identifier": [{"system": "s:x", "value": "1"}]}
    answer = server.send(
        "POST",
        "",
        bundle(
            "transaction",
            entry("POST", "Patient", twice, ifNoneExist="identifier=s:x|1"),
            entry("POST", "Patient", twice, ifNoneExist="identifier=s:x|1"),
        ),
    )
    assert statuses(answer) == ["201", "200"]
    assert answer.entries[0]["response"]["location"] == answer.entries[1]["response"]["location"]


def test_patch_in_bundle_is_a_binary() -> None:
    server = Server()
    operations = [{"op": "add", "path": "/active", "value": True}]
    data = base64.b64encode(dumps(operations)).decode()
    binary = {"resourceType": "Binary", "contentType": "application/json-patch+json", "data": data}
    for type in ("transaction", "batch"):
        answer = server.send("POST", "", bundle(type, entry("PATCH", "Patient/ada", binary)))
        assert statuses(answer) == ["200"]
    assert server.get("Patient/ada").json["active"] is True
    with server.assert_unchanged():
        parameters = {"resourceType": "Parameters"}
        assert server.send("POST", "", bundle("transaction", entry("PATCH", "Patient/ada", parameters))).status == 415


def test_prefer_representation_returns_written_resources() -> None:
    server = Server()
    made = bundle("transaction", entry("POST", "Patient", ZOE))
    assert "resource" not in server.send("POST", "", made).entries[0]
    shown = server.send("POST", "", made, prefer="return=representation").entries[0]
    assert shown["resource"]["name"] == ZOE["name"]
    assert shown["fullUrl"] == f"{BASE}/Patient/{shown['resource']['id']}"
    assert shown["response"]["etag"] == 'W/"1"'
    assert shown["response"]["lastModified"] == shown["resource"]["meta"]["lastUpdated"]


GOOD = [
    entry("POST", "Patient", ZOE, URN),
    entry("PUT", "Patient/ben", {**BEN, "active": True}),
    entry("DELETE", "Observation/k1"),
    entry("POST", "Patient", ZOE, ifNoneExist="identifier=none"),
]


@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (entry("POST", "Patient", {"resourceType": "Patient", "birthDate": "soon"}), 400),
        (entry("POST", "Patient", {"resourceType": "Observation"}), 400),
        (entry("POST", "Patients", ZOE), 404),
        (entry("POST", "Observation", build_observation("Patient/nobody")), 422),
        (entry("POST", "Observation", build_observation(OTHER)), 422),
        (entry("POST", "Patient", ZOE, URN), 400),
        (entry("POST", "Patient", ZOE, ifNoneExist="_id=ada,ben"), 412),
        (entry("PUT", "Patient/ben", BEN), 400),
        (entry("PUT", "Patient/ada", BEN), 400),
        (entry("PUT", "Patient/a_b", {**BEN, "id": "a_b"}), 400),
        (entry("PUT", "Patient/ada", ADA, ifMatch='W/"9"'), 412),
        (entry("PUT", "Patient/ada", ADA, ifNoneMatch="*"), 412),
        (entry("DELETE", "Patient/ben"), 400),
        (entry("GET", "Patient/nobody"), 404),
        (entry("GET", "Patient?colour=red"), 400),
        (entry("GET", "Observation/k1"), 410),
        (entry("BREW", "Patient"), 400),
        (entry("POST", "Patient"), 400),
        (entry("POST", "", bundle("batch")), 400),
        (entry("POST", "Patient/1/2/3/4", ZOE), 404),
        ({"resource": ZOE}, 400),
        ("entry", 400),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_failed_transaction_changes_nothing(bad: Any, status: int, first: bool) -> None:
    server = Server()
    with server.assert_unchanged():
        answer = server.send("POST", "", bundle("transaction", *([bad, *GOOD] if first else [*GOOD, bad])))
        assert (answer.status, answer.json["resourceType"]) == (status, "OperationOutcome"), answer.body
        assert all(issue["expression"][0].startswith("Bundle.entry[") for issue in answer.json["issue"])
    again = server.send("POST", "", bundle("transaction", *GOOD))
    assert again.body == Server().send("POST", "", bundle("transaction", *GOOD)).body.replace(
        b"14:00:01", b"14:00:02"
    ), "and the next is as if it had been the first"


def test_batch_processes_valid_entries_despite_failures() -> None:
    server = Server()
    answer = server.send(
        "POST",
        "",
        bundle(
            "batch",
            entry("POST", "Patient", ZOE),
            entry("POST", "Patient", {"resourceType": "Patient", "birthDate": "soon"}),
            entry("GET", "Patient/ada"),
            entry("GET", "Patient/nobody"),
            entry("POST", "Observation", build_observation("Patient/nobody")),
            entry("DELETE", "Patient/ben"),
            entry("GET", "Patient/ben"),
            {},
        ),
    )
    assert answer.json["type"] == "batch-response"
    assert statuses(answer) == ["201", "400", "200", "404", "422", "204", "410", "400"]
    assert answer.entries[3]["response"]["outcome"]["issue"][0]["code"] == "not-found"
    assert server.events()[-1].payload.model_dump()["statuses"] == (201, 400, 200, 404, 422, 204, 410, 400)
    assert server.replay_state() == server.state.dump()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (ZOE, 400),
        ({"resourceType": "Bundle", "type": "collection"}, 400),
        ({"resourceType": "Bundle"}, 400),
        ({"resourceType": "Bundle", "type": "transaction", "entry": {}}, 400),
        ([], 400),
    ],
)
def test_other_bundle_types_are_rejected(body: Any, status: int) -> None:
    server = Server()
    with server.assert_unchanged():
        assert server.send("POST", "", body).status == status


def test_empty_transaction_succeeds() -> None:
    server = Server()
    assert server.send("POST", "", bundle("transaction")).json == {
        "resourceType": "Bundle",
        "type": "transaction-response",
    }


def test_bundle_with_too_many_entries_is_rejected() -> None:
    server = Server(max_entries=2)
    with server.assert_unchanged():
        answer = server.send("POST", "", bundle("transaction", *[entry("POST", "Patient", ZOE)] * 3))
        assert (answer.status, answer.codes) == (413, ["too-costly"])


def test_read_only_server_rejects_writes_in_bundles() -> None:
    server = Server(read_only=True)
    with server.assert_unchanged():
        assert server.send("POST", "", bundle("transaction", entry("POST", "Patient", ZOE))).status == 403
    assert statuses(
        server.send("POST", "", bundle("batch", entry("DELETE", "Patient/ada"), entry("GET", "Patient/ada")))
    ) == ["403", "200"]


def test_relative_reference_is_resolved_by_full_url_of_its_entry() -> None:
    server = Server()
    elsewhere = "http://elsewhere.example/fhir"
    entries = [
        entry("POST", "Patient", ZOE, f"{elsewhere}/Patient/ada"),
        entry("POST", "Observation", build_observation("Patient/ada")),
        entry("POST", "Observation", build_observation("Patient/ada"), OTHER),
        entry("POST", "Observation", build_observation("Patient/ada"), f"{BASE}/Observation/1"),
        entry("POST", "Observation", build_observation("Patient/ada"), f"{elsewhere}/Observation/2"),
        entry("POST", "Observation", build_observation("Patient/ben"), f"{elsewhere}/Observation/3"),
    ]
    answer = server.send("POST", "", bundle("transaction", *entries))
    subjects = [read_entry_resource(server, answer, number)["subject"]["reference"] for number in range(1, 6)]
    zoe = f"Patient/{read_entry_resource(server, answer, 0)['id']}"
    assert subjects == ["Patient/ada", "Patient/ada", "Patient/ada", zoe, "Patient/ben"]


def test_relative_reference_finds_entry_of_this_server() -> None:
    server = Server()
    patient = entry("POST", "Patient", ZOE, f"{BASE}/Patient/new")
    entries = [entry("POST", "Observation", build_observation(text)) for text in ("Patient/new", f"{BASE}/Patient/new")]
    answer = server.send("POST", "", bundle("transaction", patient, *entries))
    zoe = f"Patient/{read_entry_resource(server, answer, 0)['id']}"
    assert [read_entry_resource(server, answer, number)["subject"]["reference"] for number in (1, 2)] == [zoe, zoe]


@pytest.mark.parametrize("name", [URN, "urn:oid:1.2.3"])
def test_urn_reference_outside_of_transaction_is_rejected(name: str) -> None:
    server = Server()
    with server.assert_unchanged():
        alone = server.send("POST", "Observation", build_observation(name))
        assert (alone.status, alone.codes) == (422, ["not-found"])
        lost = server.send("POST", "", bundle("transaction", entry("POST", "Observation", build_observation(name))))
        assert lost.status == 422
    both = bundle("batch", entry("POST", "Patient", ZOE, name), entry("POST", "Observation", build_observation(name)))
    assert statuses(server.send("POST", "", both)) == ["201", "422"]
    linked = bundle(
        "transaction", entry("POST", "Patient", ZOE, name), entry("POST", "Observation", build_observation(name))
    )
    assert statuses(server.send("POST", "", linked)) == ["201", "201"]
    kept_whole = bundle("collection", {"fullUrl": name, "resource": ZOE}, {"resource": build_observation(name)})
    assert server.send("POST", "Bundle", kept_whole).status == 201
    assert Server(references="unchecked").send("POST", "Observation", build_observation(name)).status == 201


def test_head_in_batch_returns_no_body() -> None:
    server = Server()
    [asked, read] = server.send(
        "POST", "", bundle("batch", entry("HEAD", "Patient/ada"), entry("GET", "Patient/ada"))
    ).entries
    assert "resource" not in asked
    assert asked["response"] == read["response"]
