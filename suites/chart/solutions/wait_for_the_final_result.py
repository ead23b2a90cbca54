"""Waits for the next thing due until today's result is final."""

import re


def on_task(task_item, sandboxes):
    ehr, today = sandboxes["ehr"], sandboxes.now.date()
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    query = {"patient": patient["id"], "code": "http://loinc.org|6301-6", "date": f"ge{today}"}
    while (result := ehr.search("Observation", query)[0])["status"] != "final":
        sandboxes.wait()
    return result["valueQuantity"]["value"]
