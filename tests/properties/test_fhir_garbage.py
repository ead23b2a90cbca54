"""Any request gets a FHIR reply, and the log rebuilds the state."""

import base64
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clerkship.formats.fhir.exact import dumps
from clerkship.formats.fhir.resource import Resource
from tests.examples import examples
from tests.simulators.fhir.server import ADA, CHART, POTASSIUM, Server, bundle, entry, remove_elements

SCALARS = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "2026-01-01", "Patient/ada", "#", "a?b"])
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["reference", "coding", "system", "value", "extension", "id", "div"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)
SEARCHES = (
    *("Patient?identifier=A-1&name=x&birthdate=2026", "Patient?_sort=birthdate,-name&_include=*", "Patient?_id=ada"),
    *("Observation?code=x&value-quantity=gt1&date=ge2020", "Observation?subject:Patient.name=okafor&_sort=code"),
    *("Patient?_has:Observation:subject:code=2823-3&_revinclude=Observation:subject", "Patient/ada/Observation"),
    *("Patient/ada/$everything", "_history", "Patient?_summary=true", "Observation?_elements=status&combo-code=x"),
    *(
        "Patient?_lastUpdated=gt2020&_tag=x&_profile=y&_security=z",
        "Patient?gender:not=male&address=x&phone=1&language=en",
    ),
)


@st.composite
def mangled_resources(draw: st.DrawFn) -> Resource:
    """A resource in which one element is replaced or missing."""
    resource = dict(draw(st.sampled_from([remove_elements(ADA, "id", "meta"), remove_elements(POTASSIUM, "id")])))
    for _ in range(draw(st.integers(0, 2))):
        name = draw(
            st.sampled_from([*resource, "meta", "contained", "extension", "text", "gender", "component", "_birthDate"])
        )
        resource[name] = draw(JUNK)
    if draw(st.booleans()) and isinstance(resource.get("identifier"), list):
        resource["identifier"] = [draw(JUNK)]
    if draw(st.booleans()) and isinstance(resource.get("code"), dict):
        resource["code"] = {"coding": [draw(JUNK)], "text": draw(JUNK)}
    return resource


def nested(levels: int) -> dict[str, Any]:
    resource: dict[str, Any] = {}
    for _ in range(levels):
        resource = {"a": resource}
    return resource


WORDS = st.sampled_from(
    [
        *("*", 'W/"1"', '"1", "2"', "W/", "", ",", "é", "\x00", "2026-01-01T00:00:00Z", "2026-01-01", "0001-01-01"),
        *("Thu, 01 Jan 2026 00:00:00", "Thu, 01 Jan 2026 00:00:00 -0000", "Thu, 01 Jan 2026 00:00:00 +9999"),
        *(
            "Mon, 01 Jan 0001 00:00:00 +2359",
            "Fri, 31 Dec 9999 23:59:59 -2359",
            "identifier=A-1",
            "?",
            "_id=ada&_id=ben",
        ),
        *("return=minimal", "handling=lenient; return=representation", "application/fhir+json;q=0.1, text/html", "a=b"),
    ]
) | st.text(max_size=12)
HEADERS = st.dictionaries(
    st.sampled_from(
        ["if_match", "if_none_match", "if_modified_since", "if_none_exist", "prefer", "accept", "content_encoding"]
    ),
    WORDS,
    max_size=3,
)
PRECONDITIONS = st.dictionaries(
    st.sampled_from(["ifMatch", "ifNoneMatch", "ifModifiedSince", "ifNoneExist"]), WORDS, max_size=2
)
DEEP = st.integers(1, 95).map(nested)
POINTERS = st.lists(
    st.sampled_from(["a", "a" + "/a" * 90, "name", "0", "-", "given", "~1", "extension"]), max_size=12
).map(lambda parts: "".join(f"/{part}" for part in parts))
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "add", "copy", "move", "test", "replace", "remove"]), "path": POINTERS},
        optional={"from": POINTERS, "value": JUNK | DEEP},
    ),
    max_size=30,
)
IN_A_BINARY = st.one_of(
    OPERATIONS.map(lambda operations: base64.b64encode(dumps(operations)).decode()),
    st.binary(max_size=20).map(lambda data: base64.b64encode(data).decode()),
    st.text(max_size=20).filter(lambda text: text.isprintable()),
)


def build_nested_operations(steps: int) -> list[dict[str, Any]]:
    return [{"op": "add", "path": "/a" * (1 + 91 * step), "value": nested(90)} for step in range(steps)]


@given(
    headers=HEADERS,
    preconditions=PRECONDITIONS,
    data=IN_A_BINARY,
    operations=OPERATIONS,
    steps=st.integers(0, 20),
)
@settings(max_examples=examples(100), deadline=None)
@example(headers={"if_modified_since": "Thu, 01 Jan 2026 00:00:00"}, preconditions={}, data="é", operations=[], steps=0)
@example(headers={}, preconditions={}, data="", operations=[{"op": "copy", "from": "/a", "path": "/b"}], steps=14)
@example(
    headers={}, preconditions={}, data="", operations=[{"op": "test", "path": "/a", "value": nested(90)}], steps=14
)
def test_any_header_patch_or_precondition_gets_a_fhir_reply(
    headers: dict[str, str],
    preconditions: dict[str, str],
    data: str,
    operations: list[dict[str, Any]],
    steps: int,
) -> None:
    server = Server(*CHART, validation="lenient", references="unchecked")
    binary = {"resourceType": "Binary", "contentType": "application/json-patch+json", "data": data}
    patches = [*build_nested_operations(steps), *operations]
    whole = {**binary, "data": base64.b64encode(dumps(patches)).decode()}
    sent = [
        server.get("Patient/ada", **headers),
        server.send("PUT", "Patient/ada", ADA, **headers),
        server.send("POST", "Patient", ADA, **headers),
        server.send("PATCH", "Patient/ada", patches, **headers),
        server.send("DELETE", "Observation/k1", **headers),
    ]
    for type in ("batch", "transaction"):
        entries = [
            entry("PATCH", "Patient/ada", binary, **preconditions),
            entry("PATCH", "Patient/ben", whole, **preconditions),
            entry("GET", "Patient/ada", **preconditions),
            entry("POST", "Patient", ADA, **preconditions),
        ]
        sent += [server.send("POST", "", bundle(type, *entries, entry("PUT", "Patient/ada", ADA)), **headers)]
        sent += [server.send("POST", "", bundle(type, each)) for each in entries]
    assert all(200 <= answer.status < 500 for answer in sent)
    assert all(answer.json["resourceType"] == "OperationOutcome" for answer in sent if answer.status >= 400)
    assert server.rig.playground.broken is None
    assert server.replay_state() == server.state.dump()


@pytest.mark.parametrize("validation", ["strict", "lenient"])
@given(
    resources=st.lists(mangled_resources(), min_size=1, max_size=3),
    operations=st.lists(JUNK, max_size=2),
    search=st.sampled_from(SEARCHES),
)
@settings(max_examples=examples(60), deadline=None)
def test_any_request_gets_a_fhir_reply(
    validation: str, resources: list[Resource], operations: list[Any], search: str
) -> None:
    server = Server(*CHART, validation=validation, references="unchecked")
    entries = [entry("POST", _type(each), each, f"urn:uuid:{number}") for number, each in enumerate(resources)]
    conditional = [entry("POST", _type(each), each, ifNoneExist="identifier=x|1") for each in resources]
    sent = [server.send("POST", _type(each), each) for each in resources]
    sent.append(server.send("POST", "", bundle("transaction", *entries)))
    sent.append(server.send("POST", "", bundle("transaction", *conditional, *entries)))
    sent.append(server.send("POST", "", bundle("batch", *conditional, *operations)))
    sent += [server.send("POST", f"{_type(each)}/$validate", each) for each in resources]
    sent.append(server.send("PATCH", "Patient/ada", operations))
    sent.append(
        server.send("PATCH", "Patient/ada", [{"op": "add", "path": "/name/0", "value": junk} for junk in operations])
    )
    sent.append(server.get(search))
    assert all(200 <= answer.status < 500 for answer in sent)
    assert all(answer.json["resourceType"] == "OperationOutcome" for answer in sent if answer.status >= 400)
    assert server.rig.playground.broken is None
    assert server.replay_state() == server.state.dump()


def _type(resource: Resource) -> str:
    return "Patient" if "birthDate" in resource else "Observation"
