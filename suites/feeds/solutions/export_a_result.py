"""The latest final value, written as one ORU under a name that says it is not whole, then renamed."""

import re

from clerkship.plugin.hl7 import build_field


def on_task(task_item, sandboxes):
    ehr, drop = sandboxes["ehr"], sandboxes["drop"]
    mrn = re.search(r"MRN (\d+)", task_item["instruction"])[1]
    [patient] = ehr.search("Patient", identifier=mrn)
    query = {
        "patient": patient["id"],
        "code": "http://loinc.org|4548-4",
        "status": "final",
        "_sort": "-date",
        "_count": 1,
    }
    result = ehr.bundle("Observation", query)["entry"][0]["resource"]
    name, born, value = patient["name"][0], patient["birthDate"].replace("-", ""), result["valueQuantity"]
    at, observed = sandboxes.now.strftime("%Y%m%d%H%M%S"), re.sub(r"[-:T]", "", result["effectiveDateTime"][:19])
    full_name = build_field(name["family"], *name["given"])
    segments = [
        f"MSH|^~\\&|ASSISTANT|RIVERBEND|PARTNER|PARTNER|{at}||ORU^R01^ORU_R01|EXPORT-1|P|2.5.1",
        f"PID|1||{mrn}^^^RIVERBEND^MR||{full_name}||{born}|{patient['gender'][0].upper()}",
        f"OBR|1||{result['id']}^RIVERBEND|4548-4^Hemoglobin A1c^LN|||{observed}|||||||||||||||{at}|||F",
        f"OBX|1|NM|4548-4^Hemoglobin A1c^LN||{value['value']}|{value.get('code', value['unit'])}|||||F|||{observed}",
    ]
    drop.write("outbound/a1c.hl7.part", "".join(f"{segment}\r" for segment in segments))
    drop.rename("outbound/a1c.hl7.part", "outbound/a1c.hl7")
