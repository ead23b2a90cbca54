"""What a new task with a file drop starts from."""

from clerkship.simulators.spec import TaskScaffold

SCAFFOLD = TaskScaffold(
    task_item="""\
instruction: A note is in inbox/note.txt. Write the word in it to outbox/answer.txt, in capitals, and answer with it.
""",
    steps="""\
- files.drop: {sandbox: «sandbox», path: inbox/note.txt, text: aspirin}
""",
    criteria="""\
- label: The right answer
  # A gate that fails fails the task, whatever the rest.
  gate: true
  assertion:
    answer_matches: ASPIRIN
- label: The answer is filed
  # How much it counts in the score; 1 if not said.
  weight: 2
  assertion:
    file_present: {sandbox: «sandbox», path: outbox/answer.txt, text: ASPIRIN}
- label: Read before it was written
  # Scores are told by axis too.
  axis: process
  assertion:
    sequencing:
      - {event: files.file.read, where: {path: inbox/note.txt}}
      - {event: files.file.written, where: {path: outbox/answer.txt}}
""",
    solution="""\
drop = sandboxes[«sandbox»]
word = drop.read_text("inbox/note.txt").strip().upper()
drop.write("outbox/answer.txt", word)
return word
""",
)
