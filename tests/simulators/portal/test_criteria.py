"""The criteria `portal_state_match` and `portal_action`, and events of the payer portal in `sequencing`."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.assertions.sequencing import Sequencing
from clerkship.events.evidence import Evidence
from clerkship.model.task import Task
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.portal.assertions.portal_action import PortalActionDone
from clerkship.simulators.portal.assertions.portal_state_match import PortalStateMatch
from tests.simulators.portal.portal_site import NPI, PAYER_CONFIG, RIVERA, PortalSite, fill_in_steps

DENY = {"match": {"procedure_code": "72148"}, "status": "denied", "reason": "not_medically_necessary"}
ANA, *OTHERS = PAYER_CONFIG["members"]
MEMBERS = [{**ANA, "patient": "Patient/ana"}, *OTHERS]


def build_evidence(site: PortalSite, patient: str = "") -> Evidence:
    """Return what happened so far, as criteria see it."""
    entities = {"patient": {"resourceType": "Patient", "id": patient}} if patient else {}
    states = {site.rig.name: site.state, "payer": site.payer}
    evidence = Evidence(Task(name="t"), site.events, states, "agent_done", entities=entities)
    return evidence.for_entity("patient") if patient else evidence


@pytest.fixture(scope="module")
def site() -> Iterator[PortalSite]:
    """A denied request with an appeal, a request that was refused as a duplicate, and a draft."""
    with PortalSite(payer={"determinations": [DENY], "members": MEMBERS}) as site:
        browser = site.sign_in()
        browser.post("/members", {**RIVERA, "birth_date": "02/20/1980"})
        page = fill_in_steps(browser)
        reference = page.path.rpartition("/")[2]
        browser.open(f"/requests/{reference}/appeal")
        browser.post(f"/requests/{reference}/appeal", {"reason": "Nine weeks of therapy did not help."})
        browser.post("/drafts", {"member": next(iter(site.state.members))})
        browser.open("/requests")
        browser.post("/sign-out", {})
        yield site


def match(site: PortalSite, resource: str, key: str, patient: str = "", value: Any = None, **fields: Any) -> Check:
    correlation = {"resource": resource, "key": key, **({} if value is None else {"value": value})}
    assertion = PortalStateMatch.model_validate({"correlate_by": correlation, **fields})
    return assertion.check(build_evidence(site, patient))


def act(site: PortalSite, patient: str = "", **fields: Any) -> Check:
    return PortalActionDone.model_validate(fields).check(build_evidence(site, patient))


def expect(**values: Any) -> list[dict[str, Any]]:
    return [{"path": path.replace("__", "."), "expected": value} for path, value in values.items()]


@pytest.mark.parametrize(
    ("resource", "key", "fields", "passed"),
    [
        ("prior_auth_requests", "request_id", {"assertions": expect(status="denied", place="22")}, True),
        ("prior_auth_requests", "request_id", {"assertions": expect(status="approved")}, False),
        ("prior_auth_requests", "auth_number", {}, False),
        ("prior_auth_requests", "member_id", {"value": "NW55501", "count": 1}, True),
        ("prior_auth_requests", "member_id", {"value": "NW55502", "none": True}, True),
        ("prior_auth_requests", "id", {"where": {"procedure_codes": ["72148"]}, "none": True}, False),
        ("prior_auth_requests", "id", {"assertions": expect(answers__conservative_therapy_weeks=9)}, True),
        (
            "prior_auth_requests",
            "id",
            {"assertions": expect(requested_by="m.okafor", contact="Maya Okafor, 555-010-0140", diagnoses=["M5416"])},
            True,
        ),
        ("prior_auth_requests", "id", {"assertions": expect(servicing_npi="1987654320", provider_id=NPI)}, True),
        ("drafts", "id", {"assertions": expect(owner="m.okafor", member_id="NW55501", procedure_codes=[])}, True),
        ("drafts", "id", {"count": {"gte": 2}}, False),
        ("documents", "id", {"none": True}, True),
        ("letters", "reference", {"where": {"member_id": "NW55501"}, "none": True}, True),
        ("appeals", "request_id", {"assertions": expect(reason={"contains": "therapy"})}, True),
        ("sessions", "number", {"assertions": expect(status="ended", user="m.okafor")}, True),
    ],
)
def test_records_are_selected_and_compared(
    site: PortalSite, resource: str, key: str, fields: dict[str, Any], passed: bool
) -> None:
    result = match(site, resource, key, **fields)
    assert result.passed is passed, result.detail


def test_a_record_that_differs_is_shown_with_its_values(site: PortalSite) -> None:
    result = match(site, "prior_auth_requests", "request_id", assertions=expect(status="approved", place="22"))
    assert [(row.path, row.actual, row.passed) for row in result.evidence] == [
        ("status", "denied", False),
        ("place", "22", True),
    ]
    assert "status is 'denied', expected 'approved'" in result.detail


def test_a_record_that_is_missing_is_reported_with_those_that_exist(site: PortalSite) -> None:
    detail = match(site, "prior_auth_requests", "status", value="cancelled").detail
    assert detail.startswith("there is no record of prior_auth_requests where status 'cancelled'; there is request R")


def test_a_patient_selects_the_records_of_the_patient(site: PortalSite) -> None:
    assert match(site, "prior_auth_requests", "id", "ana", count=1).passed
    assert match(site, "drafts", "id", "ana", count=1).passed
    assert match(site, "prior_auth_requests", "id", "luis", none=True).passed


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"correlate_by": {"resource": "requests", "key": "id"}}, "prior_auth_requests"),
        ({"correlate_by": {"resource": "drafts", "key": "request_id"}}, "drafts have no `request_id`"),
        ({"correlate_by": {"resource": "appeals", "key": "status", "value": "denied"}}, "unknown value `denied`"),
        ({"correlate_by": {"resource": "sessions", "key": "code"}}, "sessions have no `code`"),
        (
            {"correlate_by": {"resource": "prior_auth_requests", "key": "id"}, "where": {"state": "denied"}},
            "did you mean `status`?",
        ),
    ],
)
def test_a_mistake_in_a_criterion_about_records_is_an_error(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PortalStateMatch.model_validate(fields)


@pytest.mark.parametrize(
    ("fields", "passed"),
    [
        ({"action": "viewed", "page": "request_list"}, True),
        ({"action": "viewed", "page": "inbox"}, False),
        ({"action": "viewed", "page": "inbox", "none": True}, True),
        ({"action": "viewed", "page": "request", "where": {"shown.status": "denied"}}, True),
        ({"action": "searched", "where": {"subject": "member", "rejection": "birth_date_mismatch"}, "count": 1}, True),
        ({"action": "searched", "record": "NW001/NW55501/0"}, True),
        ({"action": "submitted", "count": 1, "where": {"status": "denied"}}, True),
        ({"action": "submitted", "record": {"matches": "^request/R"}}, True),
        ({"action": "submitted", "record": "request/R000000000"}, False),
        ({"action": "refused", "page": "member_search", "where": {"reason": "birth_date_mismatch"}}, True),
        ({"action": "refused", "button": "submit", "none": True}, True),
        ({"action": "appealed", "after": {"action": "submitted"}}, True),
        ({"action": "appealed", "before": {"action": "submitted"}}, False),
        ({"action": "appealed", "after": {"action": "viewed", "page": "request_list"}}, False),
        ({"action": "appealed", "after": {"event": "payer.authorization.determined"}}, True),
        ({"action": "signed_in", "count": {"lte": 1}}, True),
        ({"action": "signed_out"}, True),
        ({"action": "attempted_human_check", "none": True}, True),
        ({"action": "uploaded"}, False),
    ],
)
def test_actions_are_found_by_page_record_values_and_order(
    site: PortalSite, fields: dict[str, Any], passed: bool
) -> None:
    result = act(site, **fields)
    assert result.passed is passed, result.detail


def test_an_action_that_was_not_done_is_reported_with_what_was_done(site: PortalSite) -> None:
    detail = act(site, action="withdrew").detail
    assert detail.startswith("there is no action withdrew on the payer portal; the agent's actions there: signed_in 1x")


def test_a_patient_selects_what_was_done_about_the_patient(site: PortalSite) -> None:
    assert act(site, "ana", action="submitted", count=1).passed
    assert act(site, "ana", action="appealed").passed
    assert act(site, "luis", action="viewed", where={"page": "request"}, none=True).passed


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"action": "view"}, "viewed"),
        ({"action": "submitted", "page": "draft"}, "`page` goes with viewed and refused"),
        ({"action": "viewed", "page": "request_lst", "none": True}, "did you mean `request_list`?"),
        ({"action": "viewed", "page": "sign_in", "none": True}, "unknown value `sign_in`"),
        ({"action": "viewed", "button": "next"}, "`button` goes with refused"),
        ({"action": "submitted", "where": {"shown.status": "x"}}, "portal.request.filed has no `shown`"),
        ({"action": "searched", "where": {"subject": "patient"}}, "unknown value `patient`"),
    ],
)
def test_a_mistake_in_a_criterion_about_actions_is_an_error(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PortalActionDone.model_validate(fields)


def test_a_bare_action_is_enough() -> None:
    assert PortalActionDone.model_validate("signed_in").action == "signed_in"


@pytest.mark.parametrize("kinds", [("portal.searched", "portal.request.filed", "payer.appeal.filed"), ()])
def test_a_sequence_names_events_of_the_portal_and_the_payer(site: PortalSite, kinds: tuple[str, ...]) -> None:
    steps: list[dict[str, Any]] = [{"event": kind} for kind in kinds] or [
        {"event": "portal.appeal.submitted"},
        {"event": "portal.request.filed", "where": {"status": "denied"}},
    ]
    sequence: Assertion = Sequencing.model_validate({"steps": steps})
    assert sequence.check(build_evidence(site)).passed is bool(kinds)
