"""The same message until it is acknowledged: the control id makes it one order."""

import re

from clerkship.plugin import Dropped
from clerkship.plugin.hl7 import build_field, parse_message


def on_task(task_item, sandboxes):
    ehr, engine = sandboxes["ehr"], sandboxes["engine"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    mrn = next(i["value"] for i in patient["identifier"] if i["type"]["coding"][0]["code"] == "MR")
    name, born = patient["name"][0], patient["birthDate"].replace("-", "")
    at = sandboxes.now.strftime("%Y%m%d%H%M%S")
    full_name = build_field(name["family"], *name["given"])
    segments = [
        f"MSH|^~\\&|ASSISTANT|RIVERBEND|ENGINE|RIVERBEND|{at}||ORM^O01^ORM_O01|O01-0001|P|2.5.1",
        f"PID|1||{mrn}^^^RIVERBEND^MR||{full_name}||{born}|{patient['gender'][0].upper()}",
        f"ORC|NW|RB-6001^RIVERBEND|||||||{at}",
        "OBR|1|RB-6001^RIVERBEND||4548-4^Hemoglobin A1c^LN",
    ]
    while True:
        try:
            ack = parse_message(engine.send("\r".join(segments)))
        except Dropped:
            continue
        return {"control_id": "O01-0001", "ack": ack.value("MSA.1")}
