"""Her own, her contacts', her relatives': where it is the same house."""

import json
import re

WRONG, RIGHT = "508 Quarry Court", "508 Quince Court"


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    for resource in [patient, *ehr.search("RelatedPerson", patient=patient["id"])]:
        right = json.loads(json.dumps(resource, ensure_ascii=False).replace(WRONG, RIGHT))
        if right != resource:
            ehr.update(right, if_match=resource["meta"]["versionId"])
