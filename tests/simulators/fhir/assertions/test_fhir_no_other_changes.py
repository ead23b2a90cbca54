"""`fhir_no_other_changes`: the agent made the required changes, and no change that is not allowed."""

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from clerkship.formats.fhir import exact
from clerkship.formats.fhir.resource import Resource
from clerkship.sandbox.assertion import Check
from clerkship.simulators.fhir.assertions.fhir_no_other_changes import FhirNoOtherChanges
from tests.simulators.fhir.assertions.clinic import ANA, RESOURCES, Clinic, appointment, potassium

BOOKED = {"change": "created", "type": "Appointment", "where": {"status": "booked"}}
MOVED = {"change": "updated", "type": "Patient", "id": "ana", "fields": ["address"]}


def check(clinic: Clinic, **args: Any) -> Check:
    """The check of one chart."""
    return FhirNoOtherChanges.model_validate(args).check(clinic.evidence())


def test_passes_without_changes_and_after_reads() -> None:
    clinic = Clinic()
    clinic.read("Patient/eva")
    found = check(clinic)
    assert found.passed
    assert found.detail == "the agent left no change, as listed"


def test_required_change_passes_and_shows_before_and_after() -> None:
    clinic = Clinic()
    clinic.patch("Patient/ana", "/address/0/city", "Shelbyville")
    found = check(clinic, must=[MOVED])
    assert found.passed, found.detail
    assert [(row.path, row.expected, row.actual) for row in found.evidence] == [
        ("must: updated Patient ana at address", {"gte": 1}, 1),
        ("Patient/ana: address[0].city", "Springfield", "Shelbyville"),
    ]


def test_missing_required_change_fails() -> None:
    found = check(Clinic(), must=[BOOKED])
    assert not found.passed
    assert found.score == 0.0
    required = "must: created Appointment where status 'booked': 0 (expected at least 1)"
    assert found.detail == f"the agent left no change; {required}"


def test_unlisted_change_fails_with_each_changed_path() -> None:
    clinic = Clinic()
    clinic.put(ANA | {"active": False, "birthDate": "1965-03-16", "address": [{"city": "Shelbyville"}]})
    found = check(clinic, must=[MOVED])
    assert not found.passed
    assert found.score == 0.0
    assert found.detail.endswith("not allowed: Patient/ana: active, Patient/ana: birthDate")
    wrong = [(row.path, row.expected, row.actual) for row in found.evidence if not row.passed]
    assert wrong == [("Patient/ana: active", True, False), ("Patient/ana: birthDate", "1965-03-15", "1965-03-16")]
    assert found.evidence[-1].seq is not None


@pytest.mark.parametrize(
    ("item", "passed"),
    [
        ({"change": "created"}, True),
        ({"change": "created", "type": "Appointment"}, True),
        ({"change": "any", "type": "Appointment"}, True),
        (BOOKED, True),
        (BOOKED | {"search": {"patient": "Patient/ana"}}, True),
        (BOOKED | {"search": {"patient": "Patient/eva"}}, False),
        (BOOKED | {"where": {"status": "cancelled"}}, False),
        ({"change": "updated", "type": "Appointment"}, False),
        ({"change": "created", "type": "Observation"}, False),
        ({"change": "created", "id": "nobody"}, False),
        (BOOKED | {"count": 1}, True),
        (BOOKED | {"count": 2}, False),
        (BOOKED | {"count": {"lte": 1}}, True),
    ],
)
def test_listed_item_selects_matching_changes(item: dict[str, Any], passed: bool) -> None:
    clinic = Clinic()
    clinic.put(appointment(None, "ana"))
    assert check(clinic, must=[item]).passed is passed
    assert check(clinic, may=[item]).passed is passed


def test_listed_item_is_described_in_words() -> None:
    clinic = Clinic()
    clinic.put(appointment("new", "ana"))
    clinic.delete("Appointment/visit")
    rows = {row.path: row for row in check(clinic, may=[{"type": "Appointment"}]).evidence}
    assert rows["Appointment/new"].actual == rows["Appointment/new"].expected == "created, as listed"
    assert rows["Appointment/visit"].actual == "deleted, as listed"


def test_may_requires_no_change() -> None:
    assert check(Clinic(), may=[BOOKED, MOVED]).passed


def test_must_not_overrides_may() -> None:
    clinic = Clinic()
    clinic.delete("Appointment/visit")
    found = check(clinic, may=[{"type": "Appointment"}], must_not=[{"change": "deleted"}])
    assert not found.passed
    rows = {row.path: row for row in found.evidence}
    assert rows["must not: deleted resource"].actual == 1
    assert rows["Appointment/visit"].actual == "(absent)"
    assert rows["Appointment/visit"].expected["status"] == "booked"


def test_must_not_with_fields_forbids_only_those() -> None:
    clinic = Clinic()
    clinic.patch("Patient/ana", "/address/0/city", "Shelbyville")
    forbid = [{"type": "Patient", "fields": ["name", "birthDate"]}]
    assert check(clinic, may=[{"type": "Patient"}], must_not=forbid).passed
    clinic.patch("Patient/ana", "/name/0/given/1", "Marta")
    found = check(clinic, may=[{"type": "Patient"}], must_not=forbid)
    assert [row.path for row in found.evidence if not row.passed][1:] == ["Patient/ana: name[0].given[1]"]


def test_fields_of_several_items_are_combined() -> None:
    clinic = Clinic()
    clinic.put(ANA | {"address": [{"city": "X"}], "telecom": [{"system": "phone", "value": "1"}]})
    assert check(clinic, must=[MOVED], may=[MOVED | {"fields": ["telecom.value"]}]).passed
    assert not check(clinic, must=[MOVED]).passed


@pytest.mark.parametrize(
    ("fields", "passed"),
    [(["value"], True), (["valueQuantity.value"], True), (["value.unit"], False), (["valueQuantity"], True)],
)
def test_fields_match_choice_elements(fields: list[str], passed: bool) -> None:
    clinic = Clinic()
    clinic.patch("Observation/k1", "/valueQuantity/value", 4.2)
    assert check(clinic, may=[{"type": "Observation", "fields": fields}]).passed is passed


@pytest.mark.parametrize(
    ("fields", "passed"), [(["name[0].given"], True), (["name[1]"], False), (["name.given[1]"], True)]
)
def test_fields_may_have_indexes(fields: list[str], passed: bool) -> None:
    clinic = Clinic()
    clinic.patch("Patient/ana", "/name/0/given/1", "Marta")
    assert check(clinic, may=[{"type": "Patient", "fields": fields}]).passed is passed


def test_reverted_changes_do_not_count() -> None:
    clinic = Clinic()
    clinic.patch("Patient/ana", "/active", False)
    clinic.patch("Patient/ana", "/active", True)
    clinic.delete(clinic.put(appointment(None, "ana")))
    clinic.delete("Observation/k1")
    clinic.put(potassium("k1", "ana", 4.1, "2026-01-05"))
    assert check(clinic).passed


def test_changes_by_steps_and_reactions_do_not_count() -> None:
    clinic = Clinic()
    clinic.put(potassium("k9", "ana", 6.6, "2026-03-02"), "scenario")
    clinic.patch("Patient/eva", "/active", True, "reaction")
    clinic.delete("Appointment/visit", "person")
    assert check(clinic).passed
    clinic.patch("Observation/k9", "/status", "amended")  # of what a step brought, the agent changed this alone
    found = check(clinic)
    assert [(row.path, row.expected) for row in found.evidence] == [("Observation/k9: status", "final")]


def test_equal_decimals_are_no_change_and_evidence_has_plain_numbers() -> None:
    clinic = Clinic()
    clinic.patch("Observation/k1", "/valueQuantity/value", exact.Decimal("4.10"))
    assert check(clinic).passed
    clinic.patch("Observation/k1", "/valueQuantity/value", exact.Decimal("4.20"))
    clinic.put(potassium("k8", "ana", exact.Decimal("1.50"), "2026-03-01"))
    found = check(clinic)
    assert [(row.path, row.actual) for row in found.evidence[:1]] == [("Observation/k1: valueQuantity.value", 4.2)]
    assert not exact.has_exact_decimals([row.model_dump() for row in found.evidence])
    assert found.evidence[1].actual["valueQuantity"]["value"] == 1.5


def test_agent_change_to_resource_changed_by_step_is_separated() -> None:
    clinic = Clinic()
    clinic.patch("Patient/ana", "/active", False)
    clinic.patch("Patient/ana", "/birthDate", "1970-01-01", "scenario")
    assert [row.path for row in check(clinic).evidence] == ["Patient/ana: active"]
    clinic.patch("Patient/ana", "/active", True, "scenario")  # and what others have put right is no harm left
    assert check(clinic).passed


def test_deletion_of_resource_created_by_step_counts() -> None:
    clinic = Clinic()
    key = clinic.put(appointment("new", "ana"), "scenario")
    clinic.delete(key)
    found = check(clinic)
    assert not found.passed
    assert found.detail.startswith("the agent left these changes: Appointment/new deleted")


@pytest.mark.parametrize(
    ("args", "place", "message"),
    [
        ({"must": [{"type": "Pateint"}]}, ("must", 0, "type"), "did you mean `Patient`?"),
        ({"must": [{"id": "Pateint/1"}]}, ("must", 0, "id"), "unknown resource type"),
        ({"must": [{"id": "Patient/1", "fields": ["sex"]}]}, ("must", 0, "fields", 0), "no element `sex`"),
        ({"must": [{"search": {"name": "x"}}]}, ("must", 0), "needs `type`"),
        ({"may": [{"type": "Patient", "search": {"nam": "x"}}]}, ("may", 0, "search", "nam"), "nam"),
        ({"may": [{"type": "Patient", "fields": ["adress"]}]}, ("may", 0, "fields", 0), "did you mean `address`?"),
        ({"may": [{"type": "Patient", "fields": ["name.first()"]}]}, ("may", 0, "fields", 0), "is not a plain path"),
        ({"may": [{"type": "Patient", "where": {"sex": 1}}]}, ("may", 0, "where", "sex"), "no element `sex`"),
        ({"must_not": [{"count": 1}]}, ("must_not", 0, "count"), "is not allowed in `must_not`"),
        ({"may": [{"change": "made"}]}, ("may", 0, "change"), "created"),
    ],
)
def test_mistake_is_reported_with_location(args: dict[str, Any], place: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        FhirNoOtherChanges.model_validate(args)
    assert refused.value.errors()[0]["loc"] == place
    assert message in refused.value.errors()[0]["msg"]


THERE = {f"{resource['resourceType']}/{resource['id']}": resource for resource in RESOURCES}
KEYS = ("Patient/ana", "Patient/eva", "Observation/k1", "Appointment/visit")
FIELDS = ("language", "implicitRules")


class Write(NamedTuple):
    """A write to a resource by an actor."""

    actor: str
    what: str
    """`put` as it was at first, `delete`, or a field that is set, or taken away."""
    key: str
    away: bool
    number: int

    @property
    def own(self) -> bool:
        return self.actor == "agent"

    def done(self, now: Resource | None) -> Resource | None:
        """What becomes of a resource."""
        if self.what == "put":
            return THERE[self.key]
        if self.what == "delete" or now is None:
            return None
        rest = {name: value for name, value in now.items() if name != self.what}
        return rest if self.away else rest | {self.what: f"x{self.number}"}


def write_strategy(whats: tuple[str, ...], away: st.SearchStrategy[bool]) -> st.SearchStrategy[list[Write]]:
    """Return a strategy for lists of writes."""
    actors = st.sampled_from(("agent", "scenario", "reaction"))
    one = st.tuples(actors, st.sampled_from(whats), st.sampled_from(KEYS), away)
    return st.lists(one, max_size=12).map(lambda found: [Write(*each, number) for number, each in enumerate(found)])


def apply_naively(done: list[Write]) -> dict[str, Resource | None]:
    """Return every resource after these writes."""
    now: dict[str, Resource | None] = {key: THERE[key] for key in KEYS}
    for write in done:
        now[write.key] = write.done(now[write.key])
    return now


def apply_to_clinic(done: list[Write]) -> Clinic:
    """Apply the writes to a clinic."""
    clinic = Clinic()
    for write in done:
        now = clinic.state.resource(write.key)
        after = write.done(now)
        if after is not None:
            clinic.put(after, write.actor)
        elif now is not None:
            clinic.delete(write.key, write.actor)
    return clinic


def list_violations(clinic: Clinic) -> set[str]:
    """Return the resources that the assertion reports."""
    found = check(clinic)
    assert found.passed is (not found.evidence)
    return {row.path.partition(":")[0] for row in found.evidence}


@given(write_strategy(("put", "delete", *FIELDS), st.booleans()))
def test_result_equals_naive_comparison(done: list[Write]) -> None:
    owners: dict[str, bool] = {}
    done = [write for write in done if owners.setdefault(write.key, write.own) == write.own]
    assert list_violations(apply_to_clinic(done)) == {
        key for key, now in apply_naively(done).items() if owners.get(key) and now != THERE[key]
    }


@given(write_strategy(FIELDS, st.just(False)))
def test_result_equals_comparison_with_and_without_agent(done: list[Write]) -> None:
    alone = apply_naively([write for write in done if not write.own])
    assert list_violations(apply_to_clinic(done)) == {
        key for key, now in apply_naively(done).items() if now != alone[key]
    }
