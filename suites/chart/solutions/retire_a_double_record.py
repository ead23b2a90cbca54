"""Each is linked to the other; one of them stays active."""

import re


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    kept, double = (ehr.search("Patient", identifier=n)[0] for n in re.findall(r"MRN (\d+)", task_item["instruction"]))
    ehr.update({**double, "active": False, "link": [link(kept, "replaced-by")]})
    ehr.update({**kept, "link": [*kept.get("link", ()), link(double, "replaces")]})


def link(patient, how):
    return {"other": {"reference": f"Patient/{patient['id']}"}, "type": how}
