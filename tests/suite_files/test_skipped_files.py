"""Files of a folder that define nothing for the library are skipped; a mistake in one of its own files is not."""

from pathlib import Path

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.suite_files.file_keys import find_near_key
from clerkship.suite_files.load import load_library
from tests.suite_files.library_folder import LibraryFolder

TASK = "task: {name: A}\n"
CASE = "test_cases:\n  - test_case: t\n    steps:\n"

OTHER_FILES = {
    "comments only": "# nothing here yet\n# task:\n",
    "empty": "",
    "document marker only": "---\n",
    "test cases without entries": "test_cases:\n",
    "test cases as an empty list": "fixtures: []\ntest_cases: []\n",
    "results of tests": "test_results:\n  - {name: a, pass_status: false, expected_steps: []}\n",
    "results with the keys of tests": "test_cases:\n  - {test_case: a, steps: [], status: passed, rating: 4}\n"
    "  - {test_case: b, steps: [], status: failed}\n",
    "dialogue-understanding tests": f"{CASE}      - user: hi\n        commands: [StartFlow(pay)]\n      - utter: u\n",
    "config with model groups": "recipe: default.v1\npipeline: []\nmodel_groups: [{id: a, models: []}]\n",
    "endpoints": "action_endpoint: {url: http://a}\nsilence_handling: {timeout: 7}\nvector_store: {type: x}\n",
    "compose file": "services: {bot: {image: x, environment: {A: b}}}\nvolumes: {}\n",
    "logging": "version: 1\nhandlers: {}\nroot: {level: INFO}\n",
    "memory": "memories:\n  - name: branch\n",
    "integrations": "integrations: {crm: {url: http://crm}}\n",
    "domain with one key more": "slots: {}\nactions: []\nextra_section: {a: 1}\n",
    "manifest with metadata": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\napiVersion: v1\nmetadata: {}\n",
    "list": "- hosts: all\n  tasks: []\n",
    "text": "just text\n",
    "map in braces": "{image: x, script: [a]}\n",
    "syntax error without a key of ours": "services:\n  a: [1, {{ x }\n\t- b\n",
    "template in braces": "{{ range .items }}\nx\n",
    "configuration with an evaluation": "model: x\nevaluation: {batch: 3}\n",
    "not UTF-8": "name: \xe9\n",
}


def write_bytes(folder: LibraryFolder, name: str, text: str) -> Path:
    path = folder.write(name, "")
    path.write_bytes(text.encode("latin-1"))
    return path


@pytest.mark.parametrize("kind", OTHER_FILES)
def test_file_without_own_definitions_is_skipped(folder: LibraryFolder, kind: str) -> None:
    folder.write("a.yml", TASK)
    path = write_bytes(folder, "deploy/other.yml", OTHER_FILES[kind])
    library = folder.load()
    assert (list(library.tasks), list(library.skipped_files), library.warnings) == (["A"], [str(path)], ())


@pytest.mark.parametrize("kind", OTHER_FILES)
def test_skipped_file_that_was_named_is_an_error(folder: LibraryFolder, kind: str) -> None:
    folder.write("a.yml", TASK)
    path = write_bytes(folder, "other.yml", OTHER_FILES[kind])
    with pytest.raises(InputError) as caught:
        load_library(path, RegisteredCatalog())
    [problem] = caught.value.problems
    assert problem.file == str(path)
    assert problem.message


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("comments only", "the file is empty, or has only comments"),
        ("test cases without entries", "`test_cases` has no entries"),
        ("dialogue-understanding tests", "dialogue-understanding tests (steps with `commands`) are not supported"),
        (
            "results with the keys of tests",
            "results of tests (test cases with `status` or `rating`, and no steps) are not read",
        ),
        ("list", "expected a map with `task`, `scenario`, `test_cases`, `environment` or `dataset`"),
        ("compose file", ""),
    ],
)
def test_skipped_file_has_a_reason_unless_its_keys_are_of_another_tool(
    folder: LibraryFolder, kind: str, reason: str
) -> None:
    folder.write("a.yml", TASK)
    path = folder.write("other.yml", OTHER_FILES[kind])
    assert folder.load().skipped_files == {str(path): reason}


@pytest.mark.parametrize("kind", OTHER_FILES)
def test_folder_with_only_skipped_files_is_an_error(folder: LibraryFolder, kind: str) -> None:
    write_bytes(folder, "other.yml", OTHER_FILES[kind])
    [line] = folder.lines()
    assert "there is no task in this folder" in line
    assert line.endswith("; 1 other file skipped")


OWN_MISTAKES = {
    "syntax error": ("task: {name: B\n", "not YAML"),
    "syntax error in braces": ("{task: {name: B}\n", "not YAML"),
    "syntax error in an indented map": ("# the task\n\n  task:\n    name: [B\n", "not YAML"),
    "syntax error in a test file": ("test_cases:\n  - test_case: [a\n", "not YAML"),
    "unknown key beside ours": ("task: {name: B}\nservices: {}\n", "unknown key `services`"),
    "wrong type beside a definition": ("tasks: {name: B}\ntask: {name: C}\nother: 1\n", "expected a list under"),
    "wrong type beside a misspelt key": ("environment: a\ntaks: {name: B}\n", "expected a map"),
    "wrong type": ("tasks: {name: B}\n", "expected a list under `tasks`"),
    "list of definitions": ("- task: {name: B}\n", "expected a map with `task`"),
    "fixtures only": ("fixtures: [{a: [{b: 1}]}]\n", "`test_cases` is missing"),
    "fixtures with a misspelt key": ("fixtures: []\ntest_case: []\n", "unknown key `test_case`; did you mean"),
    "one result among tests": (
        f"{CASE}      - user: hi\n  - {{test_case: r, steps: [], status: ok}}\n",
        "unknown key `status`",
    ),
    "empty test cases with a misspelt key": ("test_cases: []\ntestcases: []\n", "did you mean `test_cases`?"),
    "commands beside assertions": (
        f"{CASE}      - user: a\n        commands: [b]\n      - user: c\n        assertions: []\n",
        "unknown key `commands`",
    ),
    "test cases of another type": ("test_cases: 5\n", "expected a list"),
}


@pytest.mark.parametrize("kind", OWN_MISTAKES)
def test_mistake_in_an_own_file_is_still_an_error(folder: LibraryFolder, kind: str) -> None:
    text, message = OWN_MISTAKES[kind]
    folder.write("a.yml", TASK)
    folder.write("own.yml", text)
    lines = folder.lines()
    assert any(message in line for line in lines), lines
    assert all(line.startswith("own.yml:") for line in lines)


@pytest.mark.parametrize(
    ("text", "place", "key", "near"),
    [
        ("scenarois:\n  name: B\n", 1, "scenarois", "scenario"),
        ("# a note\nversion: 1\nscenarios: []\n", 3, "scenarios", "scenario"),
        ("tsk: {name: B}\n", 1, "tsk", "task"),
        ("Task: {name: B}\n", 1, "Task", "task"),
        ("test-cases: []\n", 1, "test-cases", "test_cases"),
        ("{envrionment: {name: b}}\n", 1, "envrionment", "environment"),
    ],
)
def test_key_that_nearly_is_ours_is_a_warning(
    folder: LibraryFolder, text: str, place: int, key: str, near: str
) -> None:
    folder.write("a.yml", TASK)
    path = folder.write("b.yml", text)
    line = f"b.yml:{place}:1: {key}: unknown key `{key}`, so the file is skipped; did you mean `{near}`?"
    assert folder.warnings() == [line]
    assert list(folder.load().skipped_files) == [str(path)]
    (folder.root / "a.yml").unlink()
    assert folder.lines() == [line]


OTHER_MEANINGS = {
    "environment": ("log_level: debug\nenvironment: production\n", "2:14: environment: `environment`", "map"),
    "name of a dataset": ("dataset: reviews\nmodel: small\n", "1:10: dataset: `dataset`", "map"),
    "commands by name": ("version: 3\ntasks:\n  build: {cmds: [make]}\n", "3:3: tasks: `tasks`", "list"),
}


@pytest.mark.parametrize("kind", OTHER_MEANINGS)
def test_file_in_which_our_key_has_another_meaning_is_skipped_with_a_warning(folder: LibraryFolder, kind: str) -> None:
    text, place, expected = OTHER_MEANINGS[kind]
    folder.write("a.yml", TASK)
    path = folder.write("b.yml", text)
    hint = "if the file is for another tool, there is nothing to do"
    line = f"b.yml:{place} is not a {expected}, so the file is skipped; {hint}"
    assert folder.warnings() == [line]
    assert list(folder.load().skipped_files) == [str(path)]
    with pytest.raises(InputError, match="so the file is skipped"):
        load_library(path, RegisteredCatalog())


def test_definition_with_a_name_instead_of_a_map_is_an_error(folder: LibraryFolder) -> None:
    folder.write("a.yml", TASK)
    folder.write("b.yml", "task: Book a visit\ntask_item: {instruction: Book it.}\ncriteria: []\n")
    with pytest.raises(InputError, match="task: expected a map, not 'Book a visit'"):
        folder.load()


def test_included_file_in_which_our_key_has_another_meaning_is_not_skipped(folder: LibraryFolder) -> None:
    folder.write("a.yml", "task: {name: A, task_item: !include note.yml}\n")
    folder.write("note.yml", "environment: production\nlog_level: debug\n")
    library = folder.load()
    assert (library.skipped_files, library.warnings) == ({}, ())


@pytest.mark.parametrize(
    "key",
    [
        *("slots", "actions", "responses", "flows", "nlu", "rules", "stories", "version", "services", "volumes"),
        *("tests", "test", "tags", "steps", "name", "data", "base", "root", "agent", "models", "test_results"),
    ],
)
def test_common_keys_of_other_tools_are_not_taken_for_ours(key: str) -> None:
    assert find_near_key(key) is None


FLAT = {
    "scenario": "name: Flat\nsimulation_context: A customer.\nsetup: {}\ngoals: {criteria: [It is polite.]}\n",
    "scenario in an environment": "name: Flat\nenvironment: clinic\nsimulation_context: A customer.\n",
    "scenario without a context": "name: Flat\ngoals: {criteria: [It is polite.]}\n",
    "task": "name: Flat\ntask_item: {instruction: Do it.}\ncriteria: []\n",
    "environment": "name: clinic\nsimulators: {chat: {kind: chat}}\n",
}


@pytest.mark.parametrize("kind", FLAT)
def test_flat_file_is_told_the_missing_key_in_one_line(folder: LibraryFolder, kind: str) -> None:
    folder.write("a.yml", "task: {name: A, environment: clinic}\n" if kind == "environment" else TASK)
    folder.write("flat.yml", FLAT[kind])
    key = kind.split(maxsplit=1)[0]
    line = f"flat.yml:1:1: `{key}:` is missing; put the keys of this file under `{key}:`, indented"
    assert folder.lines() == [line]


def test_included_file_is_neither_skipped_nor_checked(folder: LibraryFolder) -> None:
    folder.write("a.yml", "task: !include parts/body.yml\n")
    folder.write("parts/body.yml", "name: A\ntask_item: !include item.yml\ncriteria: []\n")
    folder.write("parts/item.yml", "instruction: Do it.\nscenarois: 1\nsteps: !include steps.yml\n")
    folder.write("parts/steps.yml", "- one\n- two\n")
    library = folder.load()
    assert (list(library.tasks), library.skipped_files, library.warnings) == (["A"], {}, ())


def test_skipped_file_does_not_hide_an_unknown_environment(folder: LibraryFolder) -> None:
    folder.write("a.yml", "task: {name: A, environment: clinic}\n")
    folder.write("notes.yml", "clinic: [\n")
    [line] = folder.lines()
    assert "unknown environment `clinic`" in line


def test_foreign_file_beside_shared_personas_is_ignored(tmp_path: Path) -> None:
    folder = LibraryFolder(tmp_path / "eval" / "scenarios")
    folder.scenario("setup: {persona: hurried}\n", "one.yml")
    other = LibraryFolder(tmp_path)
    other.write("personas/hurried.yml", "persona: {name: hurried, description: Short of time.}\n")
    other.write("personas/index.yml", "owners: [a]\n")
    assert list(folder.load().tasks) == ["One"]
