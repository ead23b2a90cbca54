"""Her own, her contacts', her relatives': where it is the same house."""

import json
import re


def on_task(task_item, sandboxes):
    ehr, told = sandboxes["ehr"], " ".join(task_item["instruction"].split())
    right, wrong = re.search(r"it is (.+?), not (.+?);", told).groups()
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", told)[1])
    for resource in [patient, *ehr.search("RelatedPerson", patient=patient["id"])]:
        corrected = json.loads(json.dumps(resource, ensure_ascii=False).replace(wrong, right))
        if corrected != resource:
            ehr.update(corrected, if_match=resource["meta"]["versionId"])
