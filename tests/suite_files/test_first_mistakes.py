"""Mistakes that new users make in task files are reported together, and say what to write."""

import pytest

from clerkship.model.errors import InputError
from tests.suite_files.library_folder import LibraryFolder

ENVIRONMENT = "environment: {name: office, simulators: {drop: {kind: files}}}\n"


def mistakes(folder: LibraryFolder, task: str) -> list[str]:
    """Return the mistakes of a task, each as place and message."""
    folder.write("tasks.yml", ENVIRONMENT + task)
    with pytest.raises(InputError) as wrong:
        folder.load()
    return [f"{p.line}:{p.column} {p.message}; {p.hint}".removesuffix("; ") for p in wrong.value.problems]


def test_all_template_mistakes_of_a_text_and_a_file_are_reported_at_once(folder: LibraryFolder) -> None:
    folder.write("letter.txt", "Dear {{ nwo }},\nit is {{ now | dat }}.\n")
    task = """task:
  name: Write a letter
  task_item:
    instruction: "At {{ nwo }}, write {{ now | uper }} and {{ }} and {% if late %} again {{ now }} and {{ nwo }}"
    other: "{{ now.nothing }} and {{ unclosed"
  scenario: [{files.drop: {path: "in/{{ noww }}.txt", template: letter.txt}}]
  criteria: [{label: A letter, assertion: {file_present: {path: "{{ never }}"}}}]
"""
    assert mistakes(folder, task) == [
        "1:6 unknown name `nwo`; did you mean `now`?",
        "2:7 unknown filter `dat`; did you mean `date`?",
        "5:18 unknown name `nwo`; did you mean `now`?",
        "5:18 unknown filter `uper`; did you mean `upper`?",
        "5:18 there is nothing between `{{` and `}}`; write a name with dots and filters, such as "
        "{{ patient.name | upper }}",
        "5:18 statements ({% … %}) are not supported; use only {{ name.path | filter }}",
        "6:12 unknown name `nothing` in `now.nothing`",
        "6:12 `{{` without `}}`",
        "7:34 unknown name `noww`; did you mean `now`?",
        "8:65 unknown name `never`; known: now",
    ]


@pytest.mark.parametrize(
    ("tags", "hint"),
    [
        ("chart", "write [chart]"),
        ("chart, urgent", "write [chart, urgent]"),
        ('"on call: nights"', 'write ["on call: nights"]'),
        ("{chart: 1}", ""),
        ("5", ""),
    ],
)
def test_text_in_place_of_a_list_of_texts_is_answered_with_the_list(
    folder: LibraryFolder, tags: str, hint: str
) -> None:
    [found] = mistakes(folder, f"task: {{name: A, tags: {tags if ',' not in tags else repr(tags)}}}\n")
    assert "expected a list, not" in found
    assert found.partition("; ")[2] == hint


def test_scenario_file_has_the_same_hint_for_tags(folder: LibraryFolder) -> None:
    folder.write("one.yml", "scenario: {name: A, tags: chart, simulation_context: You are ill.}\n")
    with pytest.raises(InputError, match=r"tags: expected a list, not 'chart'; write \[chart\]"):
        folder.load()


def test_assertion_without_its_key_is_one_mistake(folder: LibraryFolder) -> None:
    task = """task:
  name: A
  criteria:
    - label: It is there
      file_present: {path: x}
    - file_present: {path: x}
    - label: Nothing
    - {label: Fine, assertion: {file_present: {path: x}}}
"""
    assert mistakes(folder, task) == [
        "6:7 `assertion:` is missing before `file_present`; write `assertion: {file_present: …}`",
        "7:7 `label:` and `assertion:` are missing before `file_present`; write `assertion: {file_present: …}`, "
        "with a `label:` beside it",
        "8:7 `assertion` is missing",
    ]


def test_entity_with_a_misspelt_id_is_reported_once(folder: LibraryFolder) -> None:
    task = """task:
  name: Write
  entities: [{name: pat, dataset: people, type: Patient}]
  task_item: {instruction: "Write to {{ pat.name }}, not to {{ pta.name }}"}
"""
    assert mistakes(folder, task) == [
        "4:15 unknown key `name`; did you mean `id`, which is missing?",
        "5:28 unknown name `pta` in `pta.name`; did you mean `pat`?",
    ]


FAX = """environment:
  name: office
  simulators:
    fax: {kind: fax}
    ehr: {kind: fhir}
  reactions: [fax.arrived -> ehr]
"""
FAX_TASK = """task:
  name: A
  scenario: [{fax.receive: {from: "+15550100300", text: Hello}}]
  criteria:
    - {label: Sent, assertion: {fax_sent: {to: "+15550100300"}}}
    - {label: Read, assertion: {fhir_was_read: {resource_type: Patient}}}
    - {label: Once, assertion: {fax_sent: {sandbox: fax, count: 1}}}
"""


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("simulators:", "simulator:", "3:3 unknown key `simulator`; did you mean `simulators`?"),
        ("simulators:", "sandboxes:", "3:3 unknown key `sandboxes`; did you mean `simulators`?"),
        ("kind: fax", "kind: faxes", "4:17 unknown simulator `faxes`; did you mean `fax`?"),
        ("kind: fax", "knd: fax", "4:11 unknown key `knd`; did you mean `kind`?"),
        ("kind: fax", "type: fax", "4:11 unknown key `type`; did you mean `kind`?"),
        ("{kind: fax}", "{kind: sms}", "4:17 unknown simulator `sms`; did you mean `messages`?"),
    ],
)
def test_misspelt_simulators_of_an_environment_are_one_mistake(
    folder: LibraryFolder, old: str, new: str, mistake: str
) -> None:
    folder.write("tasks.yml", FAX.replace(old, new, 1) + FAX_TASK)
    with pytest.raises(InputError) as wrong:
        folder.load()
    assert [f"{p.line}:{p.column} {p.message}; {p.hint}" for p in wrong.value.problems] == [mistake]


UNNAMED = FAX_TASK.replace("{sandbox: fax, count: 1}", "{count: 1}").replace(
    "fhir_was_read: {resource_type: Patient}", "never: files.*"
)


def test_simulator_that_tasks_need_is_reported_once(folder: LibraryFolder) -> None:
    assert mistakes(folder, UNNAMED) == [
        "4:28 office has no sandbox of kind fax; add `fax: {kind: fax}` under `simulators`",
    ]


def test_folder_without_environment_is_reported_once(folder: LibraryFolder) -> None:
    folder.write("tasks.yml", UNNAMED)
    with pytest.raises(InputError) as wrong:
        folder.load()
    [problem] = wrong.value.problems
    assert (problem.message, problem.hint) == (
        "this folder has no environment with a sandbox of kind fax",
        "add a YAML file with the key `environment`, and `fax: {kind: fax}` under `simulators`",
    )
