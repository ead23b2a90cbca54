"""The scaffold of a new task with faxes."""

from clerkship.simulators.spec import TaskScaffold

SCAFFOLD = TaskScaffold(
    task_item="""\
instruction: A fax has arrived. Answer it by fax with the word OK, and say how many pages it has.
""",
    steps="""\
- fax.receive: {sandbox: «sandbox», from: "+15550100300", text: "Please confirm that this fax is readable."}
""",
    criteria="""\
- label: The right answer
  # If a gate fails, the task fails, whatever the other criteria say.
  gate: true
  assertion:
    answer_matches: "1"
- label: The reply was sent after reading
  # Its weight in the score; 1 by default.
  weight: 2
  # Scores are also reported by axis.
  axis: process
  assertion:
    sequencing:
      - {event: fax.read, sandbox: «sandbox»}
      - {event: fax.queued, sandbox: «sandbox»}
""",
    solution="""\
line = sandboxes[«sandbox»]
fax = line.inbox()[0]
line.download(fax["id"])
line.reply(fax["id"], text="OK")
return str(fax["pages"])
""",
)
