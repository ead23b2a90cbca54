"""Keys that only apply to conversations that the person starts are rejected if the agent starts."""

from pathlib import Path

import pytest

from tests.suite_files.library_folder import LibraryFolder
from tests.workbench import Workbench

TASK = """\
environment: {{name: desk, simulators: {{chat: {{kind: chat}}}}}}
task:
  name: One
  scenario:
    {starts}
    {written}
  criteria: [{{label: done, assertion: {{answer_matches: 1}}}}]
"""


def workspace(folder: Path, written: str, starts: str = "") -> LibraryFolder:
    """Return a folder with one task."""
    made = LibraryFolder(folder)
    made.write("one.yml", TASK.format(starts=starts or "steps: []", written=written))
    return made


@pytest.mark.parametrize("starts", ["starts: agent", ""])
@pytest.mark.parametrize("opening", ["Hello", "{improvise: true}"])
def test_opening_is_rejected_if_the_agent_starts(tmp_path: Path, starts: str, opening: str) -> None:
    [line] = workspace(
        tmp_path, f"person: {{simulation_context: A caller., opening: {opening}, fallback: Yes}}", starts
    ).lines()
    assert line == (
        "one.yml:6:54: task.scenario.person.opening: `opening` has no effect: the agent starts this task; "
        "write `starts: person`, or move the line to `lines` or `script`"
    )


@pytest.mark.parametrize("key", ["initial_slots: {a: 1}", "max_turns: 3", "turn_timeout: 5"])
def test_conversation_keys_are_rejected_if_the_agent_starts(tmp_path: Path, key: str) -> None:
    [line] = workspace(tmp_path, key).lines()
    name = key.partition(":")[0]
    message = f"`{name}` has no effect: the agent starts this task; write `starts: person`, or remove it"
    assert line.endswith(f"task.scenario.{name}: {message}")


@pytest.mark.parametrize(
    "written",
    [
        "{person: {opening: Hello}, starts: person, max_turns: 3, turn_timeout: 5}",
        "{person: {lines: [Hello]}}",
        "{person: {script: [{when: there, say: Hello}]}}",
        "{person: {simulation_context: A caller.}}",
    ],
)
def test_person_with_lines_or_script_is_accepted(tmp_path: Path, written: str) -> None:
    made = LibraryFolder(tmp_path)
    made.write(
        "one.yml",
        f"environment: {{name: desk, simulators: {{chat: {{kind: chat}}}}}}\ntask: {{name: One, scenario: {written}}}",
    )
    assert list(made.load().tasks) == ["One"]


def test_person_answers_an_agent_that_starts(bench: Workbench) -> None:
    bench.write(
        "one.yml",
        """
        environment: {name: desk, simulators: {chat: {kind: chat}}}
        task:
          name: One
          scenario: {person: {lines: [Hello, Bye]}}
          criteria: [{label: both, assertion: {answer_matches: [Hello, Bye]}}]
        """,
    )

    def calls(task_item: object, sandboxes: object) -> list[str]:
        chat = sandboxes["chat"]  # type: ignore[index]
        return [message["text"] for text in ("Hi?", "And?") for message in chat.say(text)]

    assert bench.run_one(calls).verdict == "pass"
