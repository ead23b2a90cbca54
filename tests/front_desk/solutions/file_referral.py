"""Copy the referral, delete it from the inbox, and acknowledge it."""

import json
import re


def on_task(task_item, sandboxes):
    drop = sandboxes["drop"]
    text = drop.read_text("inbox/referral.txt")
    mrn = re.search(r"MRN: (\d+)", text)[1]
    drop.write(f"patients/{mrn}/referral.txt", text)
    drop.delete("inbox/referral.txt")
    drop.write(f"outbox/{mrn}.json", json.dumps({"mrn": mrn, "status": "received"}))
