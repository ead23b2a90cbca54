"""Find the faulty element by the 999, correct it by the chart, and send only the refused set again."""

from clerkship.plugin.x12 import (
    OutgoingEnvelope,
    OutgoingGroup,
    find_values,
    parse_interchanges,
    render_interchange,
    validate_set,
)

SENT = "outbound/eligibility-0302.x12"


def on_task(task_item, sandboxes):
    ehr, drop = sandboxes["ehr"], sandboxes["drop"]
    [sent] = parse_interchanges(drop.read_text(SENT))
    received = [each for path in drop.list("inbound") for each in parse_interchanges(drop.read_text(path))]
    [acknowledgment] = [each for interchange in received for each in interchange.sets if each.code == "999"]
    number, segment_id, position, element = find_fault(acknowledgment)
    [refused] = [each for each in sent.sets if each.control_number == number]
    texts = refused.segment_texts
    member_id = next(text.split("*")[9] for text in reversed(texts[:position]) if text.startswith("NM1*IL*"))
    [patient] = ehr.search("Patient", identifier=member_id)
    elements = texts[position - 1].split("*")
    elements[element] = patient["birthDate"].replace("-", "")
    texts[position - 1] = "*".join(elements)
    group = OutgoingGroup(2, sent.groups[0].version, [refused])
    reply = sandboxes["clearing"].send(
        render_interchange(OutgoingEnvelope("CLINIC01", "CLEARING01", 312, sandboxes.now), [group])
    )
    answers = [each for interchange in [*received, *parse_interchanges(reply)] for each in interchange.sets]
    return {
        "patient": find_mrn(patient),
        "segment": segment_id,
        "element": element,
        "covered": dict(list_covered(ehr, [validate_set(each).tree for each in answers if each.code == "271"])),
    }


def find_fault(acknowledgment):
    """Return the control number of the refused set, and the segment, its position, and the element at fault."""
    number = ""
    for segment in acknowledgment.segments:
        if segment.id == "AK2":
            number = segment.value(2)
        if segment.id == "IK3":
            place = segment.value(1), int(segment.value(2))
        if segment.id == "IK4":
            return number, *place, int(segment.value(1))
    raise ValueError("no element is at fault")


def list_covered(ehr, answers):
    """Yield the MRN of each patient in the answers, and whether the plan covers the patient."""
    for person in [loop for tree in answers for loop in tree.find_all("2000C")]:
        [patient] = ehr.search("Patient", identifier=find_values(person, "2100C/NM1[1=IL]*9")[0])
        yield find_mrn(patient), bool(find_values(person, "EB[1=1]*1"))


def find_mrn(patient):
    """Return the record number of a patient."""
    codes = {each["type"]["coding"][0]["code"]: each["value"] for each in patient["identifier"] if "type" in each}
    return codes["MR"]
