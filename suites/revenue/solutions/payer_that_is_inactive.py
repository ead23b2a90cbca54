"""Read why a question was rejected and who took over, ask that payer, and correct the Coverage."""

import re

from clerkship.plugin.x12 import (
    OutgoingEnvelope,
    OutgoingGroup,
    find_values,
    parse_interchanges,
    render_interchange,
    validate_set,
)

SENT = "outbound/eligibility-0227.x12"


def on_task(task_item, sandboxes):
    ehr, drop = sandboxes["ehr"], sandboxes["drop"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    replies = "".join(drop.read_text(path) for path in drop.list("inbound") if path.endswith(".edi"))
    [rejection] = find_values(read_answer(replies), "2000A/AAA*3")
    [notice] = [drop.read_text(path) for path in drop.list("inbound") if path.endswith(".txt")]
    former, successor = (
        re.search(r"id (\w+) is no longer", notice)[1],
        re.search(r"Medical plans: .*, (\w+)", notice)[1],
    )
    [payer] = ehr.search("Organization", identifier=successor)

    [sent] = parse_interchanges(drop.read_text(SENT))
    [question] = sent.sets
    texts = question.segment_texts
    texts[:] = [re.sub(rf"\*PI\*{former}$", f"*PI*{successor}", text) for text in texts]
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", int(sent.control_number) + 1, sandboxes.now)
    group = OutgoingGroup(2, sent.groups[0].version, [question])
    answer = read_answer(sandboxes["clearing"].send(render_interchange(envelope, [group])))
    ehr.update({**coverage, "payor": [{"reference": f"Organization/{payer['id']}"}]})
    return {
        "rejection": rejection,
        "payer_id": successor,
        "active": bool(find_values(answer, "EB[1=1]*1")),
        "copay": float(find_values(answer, "EB[1=B][3=98][12=Y]*7")[0]),
        "deductible_remaining": float(find_values(answer, "EB[1=C][2=IND][6=29]*7")[0]),
    }


def read_answer(edi):
    """Return the loops of the 271 among several interchanges."""
    [answer] = [each for interchange in parse_interchanges(edi) for each in interchange.sets if each.code == "271"]
    return validate_set(answer).tree
