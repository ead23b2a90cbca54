"""Solutions that use the REST API of the payer portal in place of its pages."""

import base64
import re

ANSWERS = {
    "72148": {
        "spine_region": "Lumbar",
        "red_flags": False,
        "conservative_therapy_weeks": 9,
        "conservative_therapy_kind": "Physical therapy",
        "prior_spine_imaging": False,
    },
    "70551": {
        "head_indication": "Headache",
        "headache_features": "Worse than before",
        "neurological_deficit": False,
        "prior_head_imaging": False,
    },
    "95810": {
        "sleep_indication": "Suspected obstructive sleep apnea",
        "epworth_score": 15,
        "witnessed_apneas": True,
        "home_test": "Not conclusive",
        "home_test_date": "2026-01-27",
    },
    "73721": {
        "joint": "Knee",
        "acute_injury": False,
        "joint_x_ray": True,
        "surgery_planned": False,
    },
}
"""What the documents of the tasks say, by procedure."""
KNEES = {
    "M23.91": {"joint_side": "Right", "conservative_therapy_weeks": 11, "joint_x_ray_date": "2026-01-15"},
    "M23.92": {"joint_side": "Left", "conservative_therapy_weeks": 8, "joint_x_ray_date": "2026-02-25"},
}


def file_at_once(task_item, sandboxes):
    """File a request with all of its data."""
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    request = describe_request(ehr, portal, find_patient(ehr, task_item))
    earlier = find_denied(portal, request) if "denied" in task_item["instruction"].partition(".")[0] else {}
    filed = portal.api("POST", "/requests", {**request, "attest": True})["request"]
    return {"status": filed["status"], "number": filed["number"], **earlier}


def file_a_draft(task_item, sandboxes):
    """Save a draft, change it, and submit it."""
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    request = describe_request(ehr, portal, find_patient(ehr, task_item))
    earlier = find_denied(portal, request) if "denied" in task_item["instruction"].partition(".")[0] else {}
    draft = portal.api("POST", "/drafts", {"member": request["member"], "place": "12"})
    if "half past nine" in task_item["instruction"]:
        sandboxes.wait("45m")
        ehr.search("DocumentReference", patient=find_patient(ehr, task_item)["id"])
    portal.api("PATCH", f"/drafts/{draft['id']}", request)
    filed = portal.api("POST", f"/drafts/{draft['id']}/submit", {"attest": True})["request"]
    return {"status": filed["status"], "number": filed["number"], **earlier}


def find_patient(ehr, task_item):
    """Return the patient whom the task names."""
    number = re.search(r"MRN (\d+)", task_item["instruction"])
    if number is None:
        family, born = re.search(r"(\w+), born (\S+?)\.", task_item["instruction"]).groups()
        return ehr.search("Patient", family=family, birthdate=born)[0]
    return ehr.search("Patient", identifier=number[1])[0]


def look_up(ehr, portal, patient):
    """Return the member that a patient is."""
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))
    member = {"payer": payer["identifier"][0]["value"], "member_id": coverage["subscriberId"]}
    return portal.api("POST", "/members/lookup", {**member, "birth_date": patient["birthDate"]})


def describe_request(ehr, portal, patient):
    """Return the request for the order of a patient."""
    [order] = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
    performer = ehr.read(*order["performer"][0]["reference"].split("/"))
    code, diagnosis = order["code"]["coding"][0]["code"], order["reasonCode"][0]["coding"][0]["code"]
    day = order["occurrenceDateTime"]
    return {
        "member": look_up(ehr, portal, patient)["ref"],
        "review": "services",
        "urgency": "standard",
        "place": order["locationCode"][0]["coding"][0]["code"],
        "requesting_npi": "9999900019",
        "servicing_npi": performer["identifier"][0]["value"],
        "diagnoses": [diagnosis],
        "services": [{"code": code, "units": 1, "start": day, "end": day}],
        "answers": {**ANSWERS[code], **KNEES.get(diagnosis, {})},
        "contact_name": "Maya Okafor",
        "contact_phone": "555-010-0140",
    }


def find_denied(portal, request):
    """Return the earlier request that was denied."""
    code = request["services"][0]["code"]
    for row in portal.api("GET", "/requests", query={"status": "denied"})["requests"]:
        if code in [line["code"] for line in portal.api("GET", f"/requests/{row['reference']}")["lines"]]:
            return {"earlier": row["reference"]}
    raise LookupError("no request was denied")


def correct_a_draft(task_item, sandboxes):
    """Correct the draft of a colleague, and submit it."""
    portal = sandboxes["portal"]
    [row] = portal.api("GET", "/drafts")["drafts"]
    draft = portal.api("GET", f"/drafts/{row['id']}")
    changes = {"answers": {**draft["answers"], "conservative_therapy_weeks": "7"}}
    contact = {"contact_name": "Maya Okafor", "contact_phone": "555-010-0140"}
    portal.api("PATCH", f"/drafts/{row['id']}", {**changes, **contact})
    filed = portal.api("POST", f"/drafts/{row['id']}/submit", {"attest": True})["request"]
    corrected = {"from": draft["answers"]["conservative_therapy_weeks"], "to": 7}
    return {"status": filed["status"], "number": filed["number"], "corrected": corrected}


def upload(sandboxes, id):
    """Upload a document of the chart; return its number."""
    document = sandboxes["ehr"].read("DocumentReference", id)
    data = base64.b64decode(document["content"][0]["attachment"]["data"])
    return sandboxes["portal"].upload("/documents", "summary.pdf", data, "therapy_notes")["id"]


def reply(task_item, sandboxes):
    """Answer the question of the payer."""
    portal = sandboxes["portal"]
    data = {"answers": {"therapy_weeks": 11}, "documents": [upload(sandboxes, "therapy-of-the-knee")]}
    portal.api("POST", "/requests/R519004471/reply", data)
    sandboxes.wait("8h")
    found = portal.api("GET", "/requests/R519004471")
    return {"status": found["status"], "number": found["number"], "valid_to": found["valid_to"]}


def appeal(task_item, sandboxes):
    """Read the denial, and appeal."""
    portal = sandboxes["portal"]
    found = portal.api("GET", "/requests/R633150982")
    reason = "He had 8 weeks of physical therapy from 2025-12-19 to 2026-02-13, without improvement."
    data = {"reason": reason, "documents": [upload(sandboxes, "therapy-of-the-back")]}
    portal.api("POST", "/requests/R633150982/appeal", data)
    return {"denied": found["reference"], "deadline": found["appeal_deadline"]}


def check_the_need(task_item, sandboxes):
    """Ask whether an authorization is needed."""
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    member = look_up(ehr, portal, find_patient(ehr, task_item))
    need = portal.api("GET", "/authorization-need", query={"member": member["ref"], "code": "97110"})
    return {"needed": need["result"] != "not_required", "plan": member["plan_name"], "reference": None}


def find_a_duplicate(task_item, sandboxes):
    """Find the open request."""
    portal = sandboxes["portal"]
    for row in portal.api("GET", "/requests", query={"member_id": "HL476822215", "status": "pending"})["requests"]:
        if portal.api("GET", f"/requests/{row['reference']}")["lines"][0]["code"] == "70553":
            return {"filed": False, "reference": row["reference"], "status": row["status"]}
    raise LookupError("no request is open")


def check_the_coverage(task_item, sandboxes):
    """Look the coverage up."""
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    member = look_up(ehr, portal, find_patient(ehr, task_item))
    return {"covered": member["status"] == "active", "last_day": member["end"], "reference": None}


def list_requests(task_item, sandboxes):
    """List the requests of the week."""
    query = {"requested_from": "2026-02-16", "requested_to": "2026-02-20"}
    rows = sandboxes["portal"].api("GET", "/requests", query=query)["requests"]
    keys = ("reference", "status", "number", "valid_to")
    return {
        "requests": [{key: row[key] or None for key in keys} for row in sorted(rows, key=lambda row: row["reference"])]
    }
