"""One ADT^A08; the chart has it from there."""

import re

from clerkship.plugin.hl7 import build_field, parse_message


def on_task(task_item, sandboxes):
    ehr, engine = sandboxes["ehr"], sandboxes["engine"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    phone = re.search(r"\(\d{3}\) \d{3}-\d{4}", task_item["instruction"])[0]
    at = sandboxes.now.strftime("%Y%m%d%H%M%S")
    name = next(name for name in patient["name"] if name.get("use") == "official" or len(patient["name"]) == 1)
    mrn = next(i["value"] for i in patient["identifier"] if i["type"]["coding"][0]["code"] == "MR")
    born, sex = patient["birthDate"].replace("-", ""), patient["gender"][0].upper()
    full_name = build_field(name["family"], *name["given"])
    segments = [
        f"MSH|^~\\&|ASSISTANT|RIVERBEND|ENGINE|RIVERBEND|{at}||ADT^A08^ADT_A01|A08-0001|P|2.5.1",
        f"EVN|A08|{at}",
        f"PID|1||{mrn}^^^RIVERBEND^MR||{full_name}||{born}|{sex}|||||{build_field(phone)}^PRN^PH",
        "PV1|1|N",
    ]
    ack = parse_message(engine.send("\r".join(segments)))
    ehr.read("Patient", patient["id"])
    return {"control_id": "A08-0001", "ack": ack.value("MSA.1")}
