"""Persona files: naming, finding, and storing them with tasks."""

import pytest

from clerkship.model.errors import InputError
from clerkship.model.persona import Persona
from clerkship.model.scenario import ScenarioPerson
from tests.suite_files.library_folder import LibraryFolder

MANNERS = """
    personas:
      - {name: impatient, description: Short of time., language: German, never_says: ["(?i)please"]}
      - {name: chatty, description: Talks a lot.}
"""
CONTEXT = "scenario: {name: One, simulation_context: A customer., setup: {%s}}"


def person(folder: LibraryFolder) -> ScenarioPerson:
    """Return the person of the only task."""
    [loaded] = folder.load().tasks.values()
    assert loaded.task.scenario is not None
    assert loaded.task.scenario.person is not None
    return loaded.task.scenario.person


@pytest.mark.parametrize("setup", ["persona: impatient", "person: {persona: impatient}"])
def test_scenario_can_name_a_persona(folder: LibraryFolder, setup: str) -> None:
    folder.write("manners.yml", MANNERS)
    folder.write("one.yml", CONTEXT % setup)
    found = person(folder)
    assert found.resolved_persona == Persona(
        name="impatient", description="Short of time.", language="German", never_says=("(?i)please",)
    )
    assert (found.spoken_language, found.needs_model) == ("German", True)


def test_task_can_name_or_define_a_persona(folder: LibraryFolder) -> None:
    folder.write("manners.yml", "persona: {name: chatty, description: Talks a lot.}")
    task = (
        "task: {name: One, scenario: {starts: person, person: {simulation_context: x, language: French, persona: %s}}}"
    )
    folder.write("one.yml", task % "chatty")
    assert person(folder).resolved_persona == Persona(name="chatty", description="Talks a lot.")
    folder.write("one.yml", task % "{name: own, description: Own.}")
    assert person(folder).resolved_persona == Persona(name="own", description="Own.")
    assert person(folder).spoken_language == "French"


def test_templates_of_an_inline_persona_are_filled_once(folder: LibraryFolder) -> None:
    folder.write(
        "one.yml",
        """\
        dataset: {name: patients, type: records, records: [{id: p1, name: "{{ now }} ${HOME}"}]}
        task:
          name: One
          entities: [{id: patient, dataset: patients}]
          scenario:
            starts: person
            person: {simulation_context: x, persona: {name: own, description: "Like {{ patient.name }}."}}
        """,
    )
    assert person(folder).resolved_persona == Persona(name="own", description="Like {{ now }} $${HOME}.")


def test_shared_personas_folder_is_found(folder: LibraryFolder) -> None:
    folder.write("personas/manners.yml", MANNERS)
    folder.write("eval/scenarios/one.yml", CONTEXT % "persona: chatty")
    for place in ("eval/scenarios", "eval"):
        inside = LibraryFolder(folder.root / place)
        assert person(inside).resolved_persona == Persona(name="chatty", description="Talks a lot.")


@pytest.mark.parametrize(
    ("setup", "told"),
    [
        (
            "persona: impatien",
            "one.yml:1:73: scenario.setup.persona: unknown persona `impatien`; did you mean `impatient`?",
        ),
        ("person: {persona: x}", "scenario.setup.person.persona: unknown persona `x`; known: chatty, impatient"),
        ("persona: chatty, person: {persona: chatty}", "`persona` is given here and in `person`: give it once"),
        ("persona: {name: x}", "`description` is missing"),
    ],
)
def test_unknown_persona_is_reported_with_its_place(folder: LibraryFolder, setup: str, told: str) -> None:
    folder.write("manners.yml", MANNERS)
    folder.write("one.yml", CONTEXT % setup)
    with pytest.raises(InputError) as refused:
        folder.load()
    [problem] = folder.format_problems(refused.value.problems)
    assert told in problem


def test_duplicate_persona_name_is_rejected(folder: LibraryFolder) -> None:
    folder.write("manners.yml", MANNERS)
    folder.write("more.yml", "persona: {name: chatty, description: Another.}")
    folder.write("one.yml", CONTEXT % "")
    with pytest.raises(InputError, match="two personas are called 'chatty'"):
        folder.load()


def test_mistake_in_a_persona_is_reported_with_its_place(folder: LibraryFolder) -> None:
    folder.write("manners.yml", "persona: {name: a, descripton: b}")
    folder.write("one.yml", CONTEXT % "persona: a")
    with pytest.raises(InputError, match="unknown key `descripton`; did you mean `description`"):
        folder.load()
