"""Whatever an agent sends, the server answers in FHIR's words and its log rebuilds it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.fhir.resource import Resource
from tests.simulators.fhir.server import ADA, CHART, POTASSIUM, Server, bundle, entry, without

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
def mangled(draw: st.DrawFn) -> Resource:
    """A resource of which some element is something else, or is not there."""
    resource = dict(draw(st.sampled_from([without(ADA, "id", "meta"), without(POTASSIUM, "id")])))
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


@pytest.mark.parametrize("validation", ["strict", "lenient"])
@given(
    resources=st.lists(mangled(), min_size=1, max_size=3),
    operations=st.lists(JUNK, max_size=2),
    search=st.sampled_from(SEARCHES),
)
@settings(max_examples=120, deadline=None)
def test_nothing_breaks_it(validation: str, resources: list[Resource], operations: list[Any], search: str) -> None:
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
    assert server.rebuilt() == server.state.dump()


def _type(resource: Resource) -> str:
    return "Patient" if "birthDate" in resource else "Observation"
