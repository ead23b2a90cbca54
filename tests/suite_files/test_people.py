"""Tasks with several people."""

import pytest

from clerkship.model.errors import InputError
from clerkship.model.persona import Persona
from clerkship.model.snapshot import Snapshot
from tests.suite_files.library_folder import LibraryFolder

CLINIC = "environment: {name: clinic, simulators: {chat: {kind: chat}, phone: {kind: chat}, drop: {kind: files}}}\n"


def task(people: str, starts: str = "person") -> str:
    return f"{CLINIC}task:\n  name: Two\n  scenario:\n    starts: {starts}\n    people:\n{people}"


def test_a_task_lists_several_people(folder: LibraryFolder) -> None:
    people = (
        "      - {name: patient, sandbox: chat, opening: Hi}\n      - {name: payer, sandbox: phone, lines: [Hello]}\n"
    )
    folder.write("a.yml", task(people))
    [loaded] = folder.load().tasks.values()
    assert [(person.name, person.sandbox) for person in loaded.task.people] == [("patient", "chat"), ("payer", "phone")]


def test_person_who_waits_needs_no_opening(folder: LibraryFolder) -> None:
    folder.write("a.yml", task("      - {sandbox: chat, opening: Hi}\n      - {sandbox: phone, fallback: Yes?}\n"))
    [loaded] = folder.load().tasks.values()
    assert [person.can_begin for person in loaded.task.people] == [True, False]


@pytest.mark.parametrize(
    ("people", "line", "message"),
    [
        (
            "      - {sandbox: chat, opening: Hi}\n      - {sandbox: chat, opening: Ho}\n",
            8,
            "two people are on the sandbox `chat`",
        ),
        (
            "      - {sandbox: chat, opening: Hi}\n      - {opening: Ho}\n",
            8,
            "`sandbox` is missing: expected one of kind chat",
        ),
        (
            "      - {sandbox: chat, opening: Hi}\n      - {sandbox: drop, opening: Ho}\n",
            8,
            "`drop` is not a sandbox of kind chat",
        ),
        (
            "      - {sandbox: chat, opening: Hi}\n      - {sandbox: fax, opening: Ho}\n",
            8,
            "no sandbox `fax` in clinic",
        ),
        ("      - {sandbox: chat, fallback: Hi}\n", 5, "`starts: person` needs a person"),
        (
            "      - {sandbox: chat, opening: Hi}\n    person: {sandbox: phone, lines: [a]}\n",
            5,
            "`person` and `people` cannot be used together",
        ),
        (
            "      - {sandbox: chat, opening: Hi}\n      - {sandbox: phone, persona: shy, simulation_context: x}\n",
            8,
            "unknown persona `shy`",
        ),
        (
            "      - {sandbox: chat, opening: Hi}\n      - {sandbox: phone, fallback: {improvise: true}}\n",
            5,
            "a model that improvises needs a description",
        ),
    ],
)
def test_mistake_in_people_is_reported_once_at_its_line(
    folder: LibraryFolder, people: str, line: int, message: str
) -> None:
    folder.write("a.yml", task(people))
    with pytest.raises(InputError) as raised:
        folder.load()
    [problem] = raised.value.problems
    assert message in problem.message
    assert problem.line == line


def test_two_people_on_the_only_chat_are_rejected(folder: LibraryFolder) -> None:
    folder.write("a.yml", "task: {name: Two, scenario: {starts: person, people: [{opening: a}, {opening: b}]}}")
    with pytest.raises(InputError, match="two people are on the sandbox `chat`"):
        folder.load()


def test_opening_without_effect_is_rejected_for_each_person(folder: LibraryFolder) -> None:
    people = "      - {sandbox: chat, lines: [a]}\n      - {sandbox: phone, opening: Hi}\n"
    folder.write("a.yml", task(people, starts="agent"))
    with pytest.raises(InputError, match="`opening` has no effect") as raised:
        folder.load()
    assert raised.value.problems[0].line == 8


def test_each_person_gets_their_persona(folder: LibraryFolder) -> None:
    folder.write("p.yml", "personas: [{name: shy, description: Shy.}, {name: loud, description: 'Loud at {{ now }}.'}]")
    people = "\n".join(
        f"      - {{sandbox: {sandbox}, simulation_context: x, persona: {persona}}}"
        for sandbox, persona in (("chat", "shy"), ("phone", "loud"))
    )
    folder.write("a.yml", task(people))
    [loaded] = folder.load().tasks.values()
    shy, loud = (person.resolved_persona for person in loaded.task.people)
    assert shy == Persona(name="shy", description="Shy.")
    assert loud is not None
    assert loud.description.startswith("Loud at 20")


def test_setup_hash_does_not_depend_on_the_people(folder: LibraryFolder) -> None:
    scenes = []
    for people in ("person: {lines: [a]}", "people: [{lines: [a]}]", "people: [{lines: [b]}]"):
        folder.write("a.yml", f"task: {{name: One, scenario: {{starts: person, {people}}}}}")
        [loaded] = folder.load().tasks.values()
        scenes.append(Snapshot(task=loaded.task, environment=loaded.environment, timeout=20).setup_hash)
    assert len(set(scenes)) == 1
