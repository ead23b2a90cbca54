"""Other ways to solve tasks of this suite: ask payers with a CoverageEligibilityRequest in the chart."""

import re
from datetime import date

from clerkship.plugin.x12 import (
    AuthorizationQuery,
    OutgoingEnvelope,
    PersonQuery,
    RequestedService,
    RequestHeader,
    build_authorization_request,
    render_requests,
)

CPT = "http://www.ama-assn.org/go/cpt"


def find_copay_before_visit(task_item, sandboxes):
    """Ask for the copay, and write it into the appointment of tomorrow."""
    answer = ask_about_visit(sandboxes, "pat-0072", "2026-03-03")
    change(sandboxes, "Appointment/visit-of-tomorrow", comment=f"Copay {answer['copay']:.2f}")
    return answer


def ask_once(task_item, sandboxes):
    """Ask about a visit, which needs no connection to the clearinghouse."""
    return ask_about_visit(sandboxes, "pat-0100", "2026-03-18")


def ask_about_visit(sandboxes, patient, day):
    """Return what the payer says about the coverage of a visit."""
    [coverage] = list_coverages(sandboxes, patient)
    response = ask(sandboxes, coverage, day)
    return {
        "active": response["insurance"][0]["inforce"],
        "plan": find_plan(response),
        "copay": find_copay(response),
        "deductible_remaining": find_remaining(response, "deductible"),
    }


def correct_coverage(task_item, sandboxes):
    """Ask about the visit in March, and end the coverage with a patch."""
    [coverage] = list_coverages(sandboxes, "pat-0042")
    response = ask(sandboxes, coverage, "2026-03-20")
    insurance = response["insurance"][0]
    last_day = insurance["benefitPeriod"]["end"]
    operations = [
        {"op": "replace", "path": "/status", "value": "cancelled"},
        {"op": "add", "path": "/period/end", "value": last_day},
    ]
    sandboxes["ehr"].patch("Coverage", coverage["id"], operations)
    return {"covered": insurance["inforce"], "last_day": last_day, "plan": find_plan(response)}


def order_plans(task_item, sandboxes):
    """Ask both payers which of them pays first."""
    [mrn] = re.findall(r"MRN (\d+)", task_item["instruction"])
    [patient] = sandboxes["ehr"].search("Patient", identifier=mrn)
    coverages = list_coverages(sandboxes, patient["id"])
    responses = [ask(sandboxes, coverage, "2026-03-02") for coverage in coverages]
    [place] = [place for place, response in enumerate(responses) if "pays second" in response["disposition"]]
    for index, coverage in enumerate(coverages):
        order = 1 if index == place else 2
        if coverage["order"] != order:
            change(sandboxes, f"Coverage/{coverage['id']}", order=order)
    key, kind = "deductible_remaining", "deductible"
    if patient["id"] == "pat-0080":
        key, kind = "out_of_pocket_remaining", "Out-of-pocket maximum"
    return {
        "first": coverages[place]["subscriberId"],
        "second": coverages[1 - place]["subscriberId"],
        "first_plan": find_plan(responses[place]),
        key: find_remaining(responses[place], kind),
    }


def find_copay_of_namesake(task_item, sandboxes):
    """Ask about the patient with the right birth date."""
    [patient] = sandboxes["ehr"].search("Patient", family="Yardley", birthdate="1945-08-29")
    [coverage] = list_coverages(sandboxes, patient["id"])
    response = ask(sandboxes, coverage, "2026-03-19")
    change(sandboxes, "Appointment/appt-0009-next", comment=f"Copay ${find_copay(response):.0f}")
    return {
        "member_id": coverage["subscriberId"],
        "plan": find_plan(response),
        "copay": find_copay(response),
        "out_of_pocket_remaining": find_remaining(response, "Out-of-pocket maximum"),
    }


def ask_about_child(task_item, sandboxes):
    """Ask about a child with his own Coverage."""
    [coverage] = list_coverages(sandboxes, "pat-0051")
    response = ask(sandboxes, coverage, "2026-03-18")
    return {
        "active": response["insurance"][0]["inforce"],
        "plan": find_plan(response),
        "copay": find_copay(response),
        "deductible_remaining": find_remaining(response, "deductible"),
        "family_deductible_remaining": find_remaining(response, "deductible", "family"),
    }


def ask_about_both_days(task_item, sandboxes):
    """Ask about each day with a request of its own."""
    [coverage] = list_coverages(sandboxes, "pat-0057")
    days = [ask(sandboxes, coverage, day)["insurance"][0] for day in ("2026-03-01", "2026-03-02")]
    last_day = days[1]["benefitPeriod"]["end"]
    change(sandboxes, "Appointment/appt-0057-next", comment=f"Self-pay, coverage ended {last_day}")
    return {"home_visit_covered": days[0]["inforce"], "todays_visit_covered": days[1]["inforce"], "last_day": last_day}


def ask_successor(task_item, sandboxes):
    """Correct the payer of the Coverage first, and then ask it."""
    payor = [{"reference": "Organization/org-cedar", "display": "Cedar Mutual Insurance"}]
    change(sandboxes, "Coverage/cov-0087-1", payor=payor)
    answer = ask_about_visit(sandboxes, "pat-0087", "2026-03-06")
    del answer["plan"]
    return {"rejection": "79", "payer_id": "CM002", **answer}


def ask_about_procedures(task_item, sandboxes):
    """Ask with one request whether procedures need an authorization, and with another for the deductible."""
    coverage = sandboxes["ehr"].read("Coverage", "cov-0045-1")
    codes = [{"productOrService": {"coding": [{"system": CPT, "code": code}]}} for code in ("97110", "72148", "93306")]
    purpose = ["auth-requirements", "benefits"]
    response = ask(sandboxes, coverage, "2026-03-09", purpose=purpose, item=codes)
    needed = [
        item["productOrService"]["coding"][0]["code"]
        for item in response["insurance"][0]["item"]
        if "productOrService" in item and item.get("authorizationRequired")
    ]
    remaining = find_remaining(ask(sandboxes, coverage, "2026-03-09"), "deductible")
    return {"needs_authorization": needed, "plan": find_plan(response), "deductible_remaining": remaining}


def check_coverage_first(task_item, sandboxes, reference):
    """Ask whether the patient is covered before the work of the solution."""
    response = ask(sandboxes, sandboxes["ehr"].read("Coverage", "cov-0067-1"), "2026-03-19")
    assert response["outcome"] == "complete"
    return reference(task_item, sandboxes)


def find_visit_limit(task_item, sandboxes):
    """Ask how many visits are left, and request them with X12."""
    response = ask(sandboxes, sandboxes["ehr"].read("Coverage", "cov-0089-1"), "2026-03-10")
    items = [item for item in response["insurance"][0]["item"] if has_code(item, "category", "PT")]
    benefits = [benefit for item in items for benefit in item.get("benefit", ())]
    [limit] = [benefit for benefit in benefits if "allowedUnsignedInt" in benefit]
    [copay] = [benefit["allowedMoney"]["value"] for benefit in benefits if "allowedMoney" in benefit]
    remaining = limit["allowedUnsignedInt"] - limit["usedUnsignedInt"]
    reply = request_visits(sandboxes, remaining)
    number = re.search(r"HCR\*A1\*(\w+)", reply)[1]
    start, end = (date.fromisoformat(re.search(rf"DTP\*{code}\*D8\*(\d+)", reply)[1]) for code in ("007", "036"))
    text = f"Authorization {number} for {remaining} of 8 visits, valid {start} to {end}"
    change(sandboxes, "ServiceRequest/therapy-of-the-shoulder", note=[{"text": text}])
    return {"limit": limit["allowedUnsignedInt"], "remaining": remaining, "number": number, "copay": copay}


def request_visits(sandboxes, quantity):
    """Request visits of physical therapy, and return the reply."""
    query = AuthorizationQuery(
        payer_id="CM002",
        provider_id="9999900019",
        subscriber=PersonQuery(member_id="CM232420990", family="Chopra", given="Radha", birth_date=date(1964, 5, 16)),
        services=(RequestedService(procedure_code="97110", start=date(2026, 3, 10), quantity=quantity),),
        diagnoses=("M7501",),
    )
    request = build_authorization_request(query, RequestHeader("AUTH1", sandboxes.now))
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", 1, sandboxes.now)
    return sandboxes["clearing"].send(render_requests(envelope, [request]))


def ask(sandboxes, coverage, day, **elements):
    """Ask with a CoverageEligibilityRequest, and return the response of the payer."""
    ehr = sandboxes["ehr"]
    request = ehr.create(
        {
            "resourceType": "CoverageEligibilityRequest",
            "status": "active",
            "purpose": ["validation", "benefits"],
            "patient": {"reference": coverage["beneficiary"]["reference"]},
            "created": "2026-03-02",
            "servicedDate": day,
            "provider": {"reference": "Organization/org-clinic"},
            "insurer": {"reference": coverage["payor"][0]["reference"]},
            "insurance": [{"focal": True, "coverage": {"reference": f"Coverage/{coverage['id']}"}}],
            **elements,
        }
    )
    [response] = ehr.search("CoverageEligibilityResponse", request=f"CoverageEligibilityRequest/{request['id']}")
    return response


def list_coverages(sandboxes, patient):
    """Return the active coverages of a patient."""
    return sandboxes["ehr"].search("Coverage", patient=patient, status="active")


def change(sandboxes, key, **elements):
    """Change elements of a resource of the chart."""
    sandboxes["ehr"].update({**sandboxes["ehr"].read(*key.split("/")), **elements})


def find_plan(response):
    """Return the name of the plan."""
    return response["insurance"][0]["coverage"]["display"]


def find_copay(response):
    """Return the copay of an office visit in the network."""
    items = [item for item in response["insurance"][0]["item"] if has_code(item, "network", "in")]
    visits = [item for item in items if has_code(item, "category", "98")]
    [money] = [
        benefit["allowedMoney"] for item in visits for benefit in item["benefit"] if has_code(benefit, "type", "copay")
    ]
    return float(money["value"])


def find_remaining(response, kind, level="individual"):
    """Return what is left of a deductible, or of the out-of-pocket maximum."""
    items = [item for item in response["insurance"][0]["item"] if has_code(item, "unit", level)]
    [benefit] = [
        benefit
        for item in items
        for benefit in item["benefit"]
        if has_code(benefit, "type", kind) or benefit["type"].get("text") == kind
    ]
    return round(float(benefit["allowedMoney"]["value"] - benefit["usedMoney"]["value"]), 2)


def has_code(data, name, code):
    """Return whether a CodeableConcept has a code."""
    return code in [coding.get("code") for coding in data.get(name, {}).get("coding", ())]
