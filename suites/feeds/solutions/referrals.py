"""Row by row: what can be done is ordered once, what cannot is reported; the list is put away last."""

import csv
import io
import re
from datetime import date


def on_task(task_item, sandboxes):
    ehr, drop = sandboxes["ehr"], sandboxes["drop"]
    name = re.search(r"inbox/(referrals-\d+)\.csv", task_item["instruction"])[1]
    while f"inbox/{name}.csv" not in drop.list("inbox"):
        sandboxes.wait("5m")
    rows = list(csv.DictReader(io.StringIO(drop.read_text(f"inbox/{name}.csv"))))
    ordered, rejected = set(), []
    for row in rows:
        patient, objection = owner(ehr, row)
        if objection:
            rejected.append({"referral_id": row["referral_id"], "reason": objection})
        elif row["referral_id"] not in ordered:
            ehr.create(order(row, patient))
            ordered.add(row["referral_id"])
    if rejected:
        report = io.StringIO()
        writer = csv.DictWriter(report, ["referral_id", "reason"])
        writer.writeheader()
        writer.writerows(rejected)
        drop.write(f"outbound/{name}-rejected.csv", report.getvalue())
    drop.rename(f"inbox/{name}.csv", f"archive/{name}.csv")
    answer = {"ordered": len(ordered), "rejected": len(rejected)}
    return {key: value for key, value in answer.items() if f'"{key}":' in task_item["instruction"]}


def owner(ehr, row):
    if None in row.values() or None in row:
        return None, "the row does not have all its columns"
    try:
        date.fromisoformat(row["birth_date"])
    except ValueError:
        return None, f"{row['birth_date']} is not a date"
    found = ehr.search("Patient", identifier=row["mrn"], birthdate=row["birth_date"], family=row["family_name"])
    return (found[0], "") if len(found) == 1 else (None, f"no patient of ours has the record number {row['mrn']}")


def order(row, patient):
    return {
        "resourceType": "ServiceRequest",
        "status": "active",
        "intent": "order",
        "priority": row["priority"],
        "identifier": [{"system": "https://partner.example/referral", "value": row["referral_id"]}],
        "code": {"text": row["service"]},
        "subject": {"reference": f"Patient/{patient['id']}"},
    }
