"""One 270 with a patient per appointment, left as a file; the 271 in the reply has the patients in the same order."""

from datetime import date

from clerkship.plugin.x12 import (
    EligibilityInquiry,
    OutgoingEnvelope,
    PersonQuery,
    RequestHeader,
    build_eligibility_request,
    find_values,
    parse_interchanges,
    render_requests,
    validate_set,
)

TOMORROW = date(2026, 3, 3)


def on_task(task_item, sandboxes):
    ehr, drop = sandboxes["ehr"], sandboxes["drop"]
    [practice] = ehr.search("Organization", name="Riverbend Family Health Center")
    inquiries, numbers = [], {}
    for visit in ehr.search("Appointment", date=str(TOMORROW), status="booked"):
        [patient] = [ehr.read(*key.split("/")) for key in list_actors(visit) if key.startswith("Patient/")]
        [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
        payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))
        inquiry = EligibilityInquiry(
            payer_id=payer["identifier"][0]["value"],
            provider_id=practice["identifier"][0]["value"],
            subscriber=describe(patient, coverage["subscriberId"]),
            service_date=TOMORROW,
        )
        inquiries.append(inquiry)
        numbers[coverage["subscriberId"]] = find_mrn(patient)
    request = build_eligibility_request(inquiries, RequestHeader("TOMORROW", sandboxes.now))
    edi = render_requests(OutgoingEnvelope("CLINIC01", "CLEARING01", 7, sandboxes.now), [request])
    drop.write("outbound/tomorrow.270", edi)
    sandboxes.wait("30m")
    replies = [each for path in drop.list("inbound") for each in parse_interchanges(drop.read_text(path))]
    answers = [validate_set(each).tree for reply in replies for each in reply.sets if each.code == "271"]
    not_covered = {}
    for answer in [loop for tree in answers for loop in tree.find_all("2000C")]:
        if find_values(answer, "EB[1=6]*1"):
            [member_id] = find_values(answer, "2100C/NM1[1=IL]*9")
            not_covered[numbers[member_id]] = find_day(answer)
    return {"asked": len(inquiries), "covered": len(inquiries) - len(not_covered), "not_covered": not_covered}


def find_day(answer):
    """Return the last covered day, or the first one of a policy that has not started."""
    [start] = find_values(answer, "2100C/DTP[1=346]*3")
    day = start if start > f"{TOMORROW:%Y%m%d}" else find_values(answer, "2100C/DTP[1=347]*3")[0]
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"


def list_actors(visit):
    """Return the keys of who takes part in an appointment."""
    return [participant["actor"]["reference"] for participant in visit["participant"]]


def find_mrn(patient):
    """Return the record number of a patient."""
    codes = {each["type"]["coding"][0]["code"]: each["value"] for each in patient["identifier"] if "type" in each}
    return codes["MR"]


def describe(patient, member_id):
    """Return a person of the chart for a question to a payer."""
    [name] = [name for name in patient["name"] if name.get("use") == "official" or len(patient["name"]) == 1]
    return PersonQuery(
        member_id=member_id,
        family=name["family"],
        given=name["given"][0],
        birth_date=date.fromisoformat(patient["birthDate"]),
        gender=patient["gender"],
    )
