"""Active, and not past its end."""

import re


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    [coverage] = ehr.search("Coverage", beneficiary=f"Patient/{patient['id']}", status="active")
    return {"member": coverage["subscriberId"], "payer": coverage["payor"][0]["display"]}
