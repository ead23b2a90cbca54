"""Prefetch templates: tokens, reads and searches."""

import pytest

from clerkship.formats.cds_hooks.prefetch import (
    ReadQuery,
    TypeQuery,
    UnresolvedTemplate,
    find_template_problem,
    parse_query,
    resolve_template,
)

CONTEXT = {"userId": "PractitionerRole/7", "patientId": "ana"}


@pytest.mark.parametrize(
    ("template", "url"),
    [
        ("Patient/{{context.patientId}}", "Patient/ana"),
        ("Patient/{{ context.patientId }}", "Patient/ana"),
        ("{{context.userId}}", "PractitionerRole/7"),
        ("PractitionerRole?_id={{userPractitionerRoleId}}", "PractitionerRole?_id=7"),
        ("Condition?patient={{context.patientId}}&_count=1", "Condition?patient=ana&_count=1"),
    ],
)
def test_tokens_are_replaced(template: str, url: str) -> None:
    assert resolve_template(template, "patient-view", CONTEXT) == url
    assert find_template_problem(template, "patient-view") == ""


@pytest.mark.parametrize(
    "template",
    [
        "Encounter/{{context.encounterId}}",
        "Practitioner/{{userPractitionerId}}",
        "Patient/{{context.patient.id}}",
        "Patient/{{patientId}}",
        "Patient/{{}}",
        "Patient/" + "x" * 3000,
    ],
)
def test_template_without_a_value_is_not_resolved(template: str) -> None:
    with pytest.raises(UnresolvedTemplate):
        resolve_template(template, "patient-view", CONTEXT)


def test_several_orders_become_a_list() -> None:
    context = {"patientId": "ana", "dispatchedOrders": ["ServiceRequest/1", "ServiceRequest/2"]}
    url = resolve_template("Task?focus={{context.dispatchedOrders}}", "order-dispatch", context)
    assert parse_query(url) == TypeQuery("Task", (("focus", "ServiceRequest/1,ServiceRequest/2"),))


def test_read_is_parsed() -> None:
    assert parse_query("Patient/ana") == ReadQuery("Patient", "ana")


@pytest.mark.parametrize("url", ["", "Patient", "https://x.example/Patient/1", "Patient/1/_history", "../Patient/1"])
def test_other_requests_are_not_queries(url: str) -> None:
    with pytest.raises(UnresolvedTemplate):
        parse_query(url)
    assert find_template_problem(url, "patient-view")
