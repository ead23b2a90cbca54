"""PID stays, MRG goes; each is linked to the other."""

from clerkship.plugin.hl7 import parse_message


def on_task(task_item, sandboxes):
    ehr, lab = sandboxes["ehr"], sandboxes["lab"]
    [entry] = lab.inbox()
    message = parse_message(entry["message"])
    [kept] = ehr.search("Patient", identifier=message.value("PID.3.1"))
    [gone] = ehr.search("Patient", identifier=message.value("MRG.1.1"))
    ehr.update({**gone, "active": False, "link": [*gone.get("link", ()), link(kept, "replaced-by")]})
    ehr.update({**kept, "link": [*kept.get("link", ()), link(gone, "replaces")]})
    lab.acknowledge(entry["id"])
    return {"kept": kept["id"], "gone": gone["id"]}


def link(patient, how):
    return {"other": {"reference": f"Patient/{patient['id']}"}, "type": how}
