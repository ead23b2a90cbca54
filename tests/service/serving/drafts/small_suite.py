"""A small suite whose files have comments, includes, aliases and several ways to write values."""

from pathlib import Path

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.service.serving.server import Server, open_server
from clerkship.settings import Settings

BENCHMARK = """\
# The benchmark of the office.
benchmark:
  name: Office   # shown in reports
  slug: office
  version: 1
"""
OFFICE = """\
environment:
  name: office
  # Monday morning
  now: 2026-03-02T09:00:00-05:00
  datasets: [papers, people]
  simulators:
    drop:  {kind: files}   # the file drop
    desk:
      # nothing is configured
      kind: chat
"""
DATASETS = """\
datasets:
  # two papers
  - name: papers
    type: files
    files:
      inbox/a.txt: |
        first
          indented
      "inbox/b.txt": 'second # not a comment'
  - {name: people, type: records, file: data/people.csv}
"""
WRITE = """\
# What the office needs most.
task:
  name: Write a letter   # short
  tags: [letters, "write"]
  entities:
    - {id: person, dataset: people, where: {town: Bern}}
  task_item:
    instruction: >
      Write a letter to {{ person.name }},
      and put it into the outbox.

    limit: 0x10
  # How it is judged.
  criteria:
  # the letter itself
  - label: The letter is there
    weight: 2.0   # counts twice
    gate: true
    assertion: {file_present: {path: outbox/letter.txt}}

  - label: Said so
    assertion:
      answer_matches: {matches: "(?i)done"}   # any case
  solution: solutions/write.py
# The end.
"""
TWO = """\
tasks:
  - name: Count the papers
    tags: &tags [count, read]
    criteria: !include shared/criteria.yml
    task_item: {instruction: "How many papers are in the inbox?"}
  # The same, asked in another way.
  - name: Count them again
    tags: *tags
    criteria: !include shared/criteria.yml
    task_item: {instruction: "Number of papers in the inbox, please."}
"""
CRITERIA = """\
# shared by both tasks
- label: Two
  assertion: {answer_matches: "2"}   # as text
"""
SCENARIO = """\
scenario:
  name: Ask for a paper
  simulation_context: You want a copy of the first paper.   # no more
  environment: office
  setup: {person: {opening: "Hello, may I have a copy?", lines: ["Thanks."]}}
  goals:
    assertions:
      - {bot_uttered: {text_matches: "sure"}}
"""
SOLUTION = "async def solve(task, sandboxes):\n    return 'done'\n"
FILES = {
    "benchmark.yml": BENCHMARK.encode(),
    "office.yml": OFFICE.encode(),
    "datasets.yml": DATASETS.replace("\n", "\r\n").encode(),
    "data/people.csv": b"name,town\nAda,Bern\nBo,Basel\n",
    "tasks/write.yml": b"\xef\xbb\xbf" + WRITE.encode(),
    "tasks/count.yml": TWO.encode(),
    "tasks/shared/criteria.yml": CRITERIA.encode(),
    "tasks/solutions/write.py": SOLUTION.encode(),
    "ask.yml": SCENARIO.encode(),
    "README.md": b"# The office\n",
    "notes/empty": b"",
}


def open_test_server(folder: Path) -> Server:
    """Open a server whose data are in a folder."""
    return open_server(folder, Settings(cache=folder / "cache"), build_catalog_without_plugins())
