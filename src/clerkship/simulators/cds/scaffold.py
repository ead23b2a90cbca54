"""The scaffold of a new task with an EHR that calls CDS services."""

from clerkship.simulators.spec import TaskScaffold

SCAFFOLD = TaskScaffold(
    task_item="""\
instruction: >-
  Offer a CDS service for the hook patient-view that shows one card with the summary "Flu shot is due".
""",
    steps="""\
# A clinician opens the chart of a patient, and the EHR calls the service.
- cds.fire: {sandbox: «sandbox», hook: patient-view, patient: pat-1}
""",
    criteria="""\
- label: The service answered
  # If a gate fails, the task fails, whatever the other criteria say.
  gate: true
  assertion:
    event_occurred: {event: cds.hook.answered, sandbox: «sandbox»}
""",
    solution="""\
def remind(request):
    return [{"summary": "Flu shot is due", "indicator": "info", "source": {"label": "Prevention"}}]

with sandboxes[«sandbox»].serve({"patient-view": remind}):
    sandboxes.wait("1m")
""",
)
