"""Searches: pages, links, included resources and ignored parameters."""

import http.client
import json
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from tests.simulators.fhir.server import ADA, BASE, BEN, CHART, POTASSIUM, Server
from tests.simulators.fhir.test_history import follow_pages

MANY = [{"resourceType": "Patient", "id": f"p{number:02}", "name": [{"family": "Same"}]} for number in range(25)]


def test_searchset_has_matches_as_stored() -> None:
    answer = Server().get("Patient?birthdate=lt1970")
    assert answer.json["type"] == "searchset"
    assert answer.json["total"] == 1
    assert answer.entries == [{"fullUrl": f"{BASE}/Patient/ada", "resource": ADA, "search": {"mode": "match"}}]
    assert answer.json["link"] == [{"relation": "self", "url": f"{BASE}/Patient?birthdate=lt1970"}]


def test_search_sees_writes_and_deletions() -> None:
    server = Server()
    made = server.send("POST", "Patient", {"resourceType": "Patient", "name": [{"family": "Okafor"}]}).json["id"]
    assert set(server.get("Patient?name=okafor").keys) == {"Patient/ada", f"Patient/{made}"}
    server.send("DELETE", "Patient/ada")
    assert server.get("Patient?name=okafor").keys == [f"Patient/{made}"]
    server.send("PATCH", f"Patient/{made}", [{"op": "replace", "path": "/name/0/family", "value": "Berg"}])
    assert server.get("Patient?name=okafor").keys == []
    assert server.get("Patient?name=berg").keys == [f"Patient/{made}"]


def test_next_links_are_stable_during_writes() -> None:
    server = Server(*MANY)
    first = server.get("Patient?name=same&_count=10")
    assert [link["relation"] for link in first.json["link"]] == ["self", "first", "next"]
    server.send("PUT", "Patient/p00x", {"resourceType": "Patient", "id": "p00x", "name": [{"family": "Same"}]})
    server.send("DELETE", "Patient/p15")
    keys = [key for page in follow_pages(server, first) for key in page.keys]
    assert keys == [f"Patient/p{number:02}" for number in range(25) if number != 15]


def test_previous_links_lead_back() -> None:
    server = Server(*MANY)
    pages = follow_pages(server, server.get("Patient?name=same&_count=10"))
    for earlier, later in pairwise(pages):
        [back] = [link["url"] for link in later.json["link"] if link["relation"] == "previous"]
        assert server.get(back.removeprefix(f"{BASE}/")).entries == earlier.entries
    assert [link["relation"] for link in pages[1].json["link"]] == ["self", "first", "previous", "next"]
    assert [link["relation"] for link in pages[2].json["link"]] == ["self", "first", "previous"]


def test_page_size_is_limited_by_config() -> None:
    server = Server(*MANY, page_size=7, max_page_size=9)
    assert len(server.get("Patient").entries) == 7
    assert len(server.get("Patient?_count=1000").entries) == 9
    for counted in ("Patient?_count=0", "Patient?_summary=count"):
        answer = server.get(counted)
        assert (answer.json["total"], answer.entries) == (25, [])


def test_included_resources_have_mode_include() -> None:
    answer = Server().get("Observation?_include=Observation:subject&_include=Observation:performer")
    modes = {entry["fullUrl"].removeprefix(f"{BASE}/"): entry["search"]["mode"] for entry in answer.entries}
    assert modes == {"Observation/k1": "match", "Patient/ada": "include", "Practitioner/may": "include"}
    assert answer.json["total"] == 1


def test_total_none_omits_total() -> None:
    assert "total" not in Server().get("Patient?_total=none").json


def test_search_by_post_equals_search_by_get() -> None:
    server = Server()
    form = "application/x-www-form-urlencoded"
    posted = server.send("POST", "Patient/_search", b"birthdate=lt1970", content_type=form)
    assert posted.body == server.get("Patient?birthdate=lt1970").body
    both = server.send("POST", "Patient/_search?birthdate=lt1970", b"name=okafor", content_type=form)
    assert both.keys == ["Patient/ada"]
    assert server.send("POST", "_search", b"_type=Patient&_id=ben", content_type=form).keys == ["Patient/ben"]
    assert server.send("POST", "Patient/_search", b'{"name":"x"}').status == 415


def test_system_search_needs_type_parameter() -> None:
    server = Server()
    assert set(server.get("?_type=Patient,Practitioner").keys) == {"Patient/ada", "Patient/ben", "Practitioner/may"}


def test_compartment_search_returns_resources_of_owner() -> None:
    server = Server()
    assert server.get("Patient/ada/Observation?code=2823-3").keys == ["Observation/k1"]
    assert server.get("Patient/ben/Observation").keys == []
    assert "Observation/k1" in server.get("Patient/ada/*").keys
    assert server.get("Patient/zoe/Observation").status == 404
    assert server.get("Organization/x/Patient").status == 404
    assert server.get("Patient/ada/Nonsense").codes == ["not-supported"]


@pytest.mark.parametrize(
    "query", ["colour=red", "name:loudly=ada", "birthdate=soon", "_sort=colour", "_include=x", "_count=-1"]
)
def test_invalid_searches_are_refused(query: str) -> None:
    server = Server()
    with server.assert_unchanged():
        answer = server.get(f"Patient?{query}")
        assert answer.status == 400
        assert answer.codes


def test_ignored_parameters_are_reported_with_lenient_handling() -> None:
    answer = Server().get("Patient?colour=red&name=okafor", prefer="handling=lenient")
    assert [entry["search"]["mode"] for entry in answer.entries] == ["match", "outcome"]
    assert answer.entries[1]["resource"]["issue"][0]["severity"] == "warning"
    assert answer.json["link"][0]["url"] == f"{BASE}/Patient?name=okafor"


def test_result_parameters_of_other_servers_are_ignored_with_a_warning() -> None:
    server = Server()
    answer = server.get("Patient?_totalMethod=count&_timeout=5&_count=0")
    assert (answer.status, answer.json["total"]) == (200, 2)
    [outcome] = answer.entries
    assert outcome["search"]["mode"] == "outcome"
    assert [issue["severity"] for issue in outcome["resource"]["issue"]] == ["warning", "warning"]
    assert "_totalMethod" in outcome["resource"]["issue"][0]["diagnostics"]
    assert answer.json["link"][0]["url"] == f"{BASE}/Patient?_count=0"
    [event] = [event for event in server.events() if event.kind == "fhir.parameters.ignored"]
    assert [issue["diagnostics"] for issue in outcome["resource"]["issue"]] == list(
        event.payload.model_dump()["warnings"]
    )


@pytest.mark.parametrize(
    ("query", "prefer"),
    [("_totalMethod=count", "handling=strict"), ("_totalMethode=count", ""), ("_offset=50", ""), ("colour=red", "")],
)
def test_parameters_that_may_filter_and_strict_handling_are_refused(query: str, prefer: str) -> None:
    answer = Server().get(f"Patient?{query}", prefer=prefer)
    assert (answer.status, answer.codes) == (400, ["not-supported"])


def test_summary_and_elements_reduce_resources() -> None:
    server = Server()
    shown = server.get("Patient?_elements=birthDate&_id=ada").entries[0]["resource"]
    assert shown["birthDate"] == "1965-03-15"
    assert "name" not in shown
    assert shown["meta"]["tag"][0]["code"] == "SUBSETTED"
    assert server.get("Patient/ada?_elements=birthDate").json == shown
    assert "name" in server.get("Patient/ada?_summary=true").json
    assert server.get("Patient/ada?_summary=nonsense").status == 400


def test_search_is_logged_without_server_url() -> None:
    server = Server()
    server.get(f"Observation?subject={BASE}/Patient/ada&_include=Observation:subject&_count=5")
    said = server.events()[-1].payload.model_dump()
    assert said == {
        "type": "Observation",
        "query": "subject=Patient/ada&_include=Observation:subject&_count=5",
        "total": 1,
        "found": ("Observation/k1",),
        "included": ("Patient/ada",),
        "within": "",
        "operation": "search",
        "status": 200,
    }
    server.get("Patient/ada/Observation")
    assert server.events()[-1].payload.model_dump()["within"] == "Patient/ada"


def test_search_does_not_change_dataset() -> None:
    server = Server()
    chart = dict(server.state.chart)
    server.send("PUT", "Patient/ben", {**BEN, "active": True})
    server.get("Patient?name=x")
    assert dict(server.state.chart) == chart
    assert len(chart) == len(CHART)
    assert chart[f"Observation/{POTASSIUM['id']}"]


def test_compartment_search_by_post() -> None:
    server = Server()
    form = {"content_type": "application/x-www-form-urlencoded"}
    answer = server.send("POST", "Patient/ada/Observation/_search", b"code=2823-3", **form)
    assert answer.keys == ["Observation/k1"]
    assert answer.json["link"] == server.get("Patient/ada/Observation?code=2823-3").json["link"]
    assert server.send("POST", "Patient/ada/Observation/_search", b"code=other", **form).keys == []
    assert server.send("POST", "Patient/nobody/Observation/_search", b"", **form).status == 404


def test_system_search_refuses_parameters_that_types_do_not_share() -> None:
    said = Server().get("?birthdate=1970").json["issue"][0]["diagnostics"]
    assert said.startswith("the types searched do not all have a search parameter 'birthdate'; known: _id")


@pytest.mark.parametrize("when", ["T09:30:00+00:00", "T09:30:00%2B00:00", "T09:30+00:00"])
def test_unescaped_plus_in_time_zone_is_accepted(served: Server, when: str) -> None:
    address = urlsplit(served.rig.url())
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    target = f"{address.path}/Observation?date=2026-02-20{when}&_summary=count"
    connection.request("GET", target, headers={"Authorization": f"Bearer {served.rig.token}"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert (answer.status, json.loads(body).get("total")) == (200, 1), body


def test_other_blank_in_date_is_refused() -> None:
    for wrong in ("2026-02-20%2009:30", "2026-02-20T09:30%2000"):
        assert Server().get(f"Observation?date={wrong}").codes == ["value"]


def test_misspelt_parameter_gets_suggestion() -> None:
    answer = Server().get("Patient?birtdate=1970")
    assert answer.status == 400
    assert answer.json["issue"][0]["diagnostics"] == (
        "Patient has no search parameter 'birtdate'; did you mean `birthdate`?"
    )
