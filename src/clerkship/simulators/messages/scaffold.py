"""The scaffold of a new task with messages."""

from clerkship.simulators.spec import TaskScaffold

SCAFFOLD = TaskScaffold(
    task_item="""\
instruction: A patient has written a text message. Reply by text message with the word OK, and answer with their word.
""",
    steps="""\
- messages.receive: {sandbox: «sandbox», channel: sms, from: "+15555550142", text: thirsty}
""",
    criteria="""\
- label: The right answer
  # If a gate fails, the task fails, whatever the other criteria say.
  gate: true
  assertion:
    answer_matches: thirsty
- label: The reply was sent after reading
  # Its weight in the score; 1 by default.
  weight: 2
  # Scores are also reported by axis.
  axis: process
  assertion:
    sequencing:
      - {event: messages.message.read, sandbox: «sandbox»}
      - {event: messages.message.sent, sandbox: «sandbox», where: {text: OK}}
""",
    solution="""\
desk = sandboxes[«sandbox»]
message = desk.read(desk.inbox()[0]["id"])
desk.reply(message["id"], "OK")
return message["text"]
""",
)
