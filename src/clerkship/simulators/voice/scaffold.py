"""The scaffold of a new task with a telephone."""

from clerkship.simulators.spec import TaskScaffold

SCAFFOLD = TaskScaffold(
    task_item="""\
instruction: >-
  Call Lakeside Pharmacy at +15550100150. Answer with the hour at which it closes on weekdays, from 0 to 24.
""",
    criteria="""\
- label: The right answer
  # If a gate fails, the task fails, whatever the other criteria say.
  gate: true
  assertion:
    answer_matches: "18"
- label: The line was called, and the agent hung up
  # Its weight in the score; 1 by default.
  weight: 2
  # Scores are also reported by axis.
  axis: process
  assertion:
    sequencing:
      - {event: voice.call.started, sandbox: «sandbox», where: {to_number: "+15550100150"}}
      - {event: voice.digits.sent, sandbox: «sandbox», where: {digits: "1"}}
      - {event: voice.call.ended, sandbox: «sandbox», where: {by: agent}}
""",
    solution="""\
phone = sandboxes[«sandbox»]
call = phone.dial("+15550100150")
phone.hear(call)
phone.press(call, "1")
words = phone.listen(call)
phone.hang_up(call)
return words.partition(" to ")[2].partition(" ")[0]
""",
)
