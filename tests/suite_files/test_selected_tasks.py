"""Tasks that are selected by name load although files that they do not need have mistakes."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.suite_files.datasets import TaskSelection
from clerkship.suite_files.library import Library
from clerkship.suite_files.load import load_library
from tests.examples import examples
from tests.suite_files.library_folder import LibraryFolder

CATALOG = RegisteredCatalog()
BROKEN = {
    "task": "task: {name: Other, criteria: [{label: x, assertion: {nevr: x}}]}\n",
    "syntax": "task: {name: Other\n",
    "scenario": "scenario: {name: Other}\n",
    "flat scenario": "name: Other\nsimulation_context: x\n",
    "test file": "test_cases: [{test_case: Other, steps: [{user: a, bot: b}]}]\n",
    "other environment": "environment: {name: west, simulators: {x: {kind: flies}}}\n",
    "other dataset": "dataset: {name: west, type: nothing}\n",
    "other persona": "persona: {name: west}\n",
    "benchmark": "benchmark: {slug: all, name: All, tasks: [nothing]}\n",
}
CLINIC = "environment: {name: clinic, datasets: [people], simulators: {chat: {kind: chat}}}\n"
PEOPLE = "dataset: {name: people, type: records, records: [{type: Patient, id: p-1}]}\n"
RUSHED = "persona: {name: rushed, description: Short of time.}\n"
TASK = """\
task:
  name: Book a visit
  environment: clinic
  task_item: !include item.yml
  scenario: {starts: person, person: {opening: Hi, persona: rushed}}
"""


@pytest.fixture
def clinic(folder: LibraryFolder) -> LibraryFolder:
    """A folder with one task and everything that it uses, each in its own file."""
    files = {"clinic": CLINIC, "people": PEOPLE, "rushed": RUSHED, "book": TASK, "item": "instruction: Book it.\n"}
    for name, text in files.items():
        folder.write(f"{name}.yml", text)
    return folder


def load(folder: LibraryFolder, *tasks: str) -> Library:
    return load_library(folder.root, CATALOG, tasks=TaskSelection(tasks))


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("name", ["Book a visit", "Book*", "book", "a visit"])
def test_mistakes_in_files_that_a_task_does_not_need_are_one_warning(
    clinic: LibraryFolder, name: str, kind: str
) -> None:
    clinic.write("other.yml", BROKEN[kind])
    library = load(clinic, name)
    assert [loaded.task.name for loaded in library.select(names=[name])] == ["Book a visit"]
    warnings = [str(warning) for warning in library.warnings if "in other files" in str(warning)]
    assert len(warnings) == 1
    assert "other files of this folder, which are skipped; run `clerkship validate` to see them" in warnings[0]
    with pytest.raises(InputError):
        load(clinic)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("clinic", CLINIC.replace("kind: chat", "kind: caht"), "unknown simulator `caht`"),
        ("people", PEOPLE.replace("records,", "recods,"), "unknown dataset type `recods`"),
        ("rushed", "persona: {name: rushed}\n", "`description` is missing"),
        ("item", "instruction: [a\n", "not YAML"),
        ("book", TASK.replace("opening", "openning"), "unknown key `openning`"),
        ("book", "task: {name: Book a visit\n", "not YAML"),
        ("clinic", "environment: {name: clinic\n", "not YAML"),
    ],
)
def test_mistake_in_a_file_that_the_task_needs_is_an_error(
    clinic: LibraryFolder, file: str, text: str, message: str
) -> None:
    clinic.write(f"{file}.yml", text)
    for name in ("Book a visit", "book"):
        with pytest.raises(InputError, match=message):
            load(clinic, name)


def test_only_mistakes_of_needed_files_are_reported(clinic: LibraryFolder) -> None:
    clinic.write("other.yml", BROKEN["task"])
    clinic.write("book.yml", TASK.replace("opening", "openning"))
    with pytest.raises(InputError) as caught:
        load(clinic, "Book a visit")
    assert {Path(problem.file).name for problem in caught.value.problems} == {"book.yml"}


def test_broken_data_file_matters_only_to_tasks_that_use_its_dataset(clinic: LibraryFolder) -> None:
    clinic.write("west.yml", "dataset: {name: west, type: records, file: west.csv}\n")
    clinic.write("west.csv", "type,id\nPatient,p-1,and,more\n")
    assert list(load(clinic, "Book a visit").tasks) == ["Book a visit"]
    clinic.write("clinic.yml", CLINIC.replace("people", "people, west"))
    with pytest.raises(InputError, match=r"west\.csv"):
        load(clinic, "Book a visit")


def test_broken_data_file_that_two_datasets_share_is_an_error(clinic: LibraryFolder) -> None:
    clinic.write("shared.csv", "type,id\nPatient,p-1,and,more\n")
    for name in ("people", "west"):
        clinic.write(f"{name}.yml", f"dataset: {{name: {name}, type: records, file: shared.csv}}\n")
    with pytest.raises(InputError, match=r"shared\.csv"):
        load(clinic, "Book a visit")


def test_pattern_that_also_matches_a_task_with_a_mistake_is_an_error(clinic: LibraryFolder) -> None:
    clinic.write("late.yml", "task: {name: Book late, criteria: [{label: x, assertion: {nevr: x}}]}\n")
    assert list(load(clinic, "Book a*").tasks) == ["Book a visit"]
    with pytest.raises(InputError, match="unknown assertion `nevr`"):
        load(clinic, "Book*")


@pytest.mark.parametrize("kind", ["syntax", "flat scenario", "test file", "scenario"])
def test_task_without_environment_loads_despite_a_file_that_cannot_be_read(folder: LibraryFolder, kind: str) -> None:
    folder.write("other.yml", BROKEN[kind])
    folder.scenario("")
    assert list(load(folder, "One").tasks) == ["One"]
    folder.write("clinic.yml", "environment: {name: clinic\n")
    with pytest.raises(InputError, match="not YAML"):
        load(folder, "One")


def test_unknown_task_raises_all_mistakes(clinic: LibraryFolder) -> None:
    clinic.write("other.yml", BROKEN["syntax"])
    with pytest.raises(InputError, match="not YAML"):
        load(clinic, "Other")


def test_conftest_with_a_mistake_is_an_error_for_every_task(clinic: LibraryFolder) -> None:
    clinic.write("conftest.yml", "evaluation: [\n")
    with pytest.raises(InputError, match="not YAML"):
        load(clinic, "Book a visit")


def test_test_case_is_selected_despite_a_mistake_in_another_file(folder: LibraryFolder) -> None:
    folder.write("good.yml", "test_cases: [{test_case: pay, steps: [{user: hi}]}]\n")
    folder.write("bad.yml", "test_cases: [{test_case: refund, steps: [{usr: hi}]}]\n")
    assert list(load(folder, "pay").tasks) == ["pay"]
    with pytest.raises(InputError, match="unknown key `usr`"):
        load(folder, "refund")


def test_file_includes_another_with_a_mistake_from_a_relative_folder(
    clinic: LibraryFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    clinic.write("item.yml", "instruction: [a\n")
    monkeypatch.chdir(clinic.root)
    with pytest.raises(InputError, match="not YAML"):
        load_library(Path("book.yml"), CATALOG)


def load_only(root: Path, *tasks: str) -> Library:
    return load_library(root, CATALOG, tasks=TaskSelection(tasks, is_exclusive=True))


def test_exclusive_selection_neither_loads_nor_checks_other_tasks(clinic: LibraryFolder) -> None:
    clinic.write("other.yml", BROKEN["task"])
    library = load_only(clinic.root, "Book a visit")
    assert list(library.tasks) == ["Book a visit"]
    assert library.is_partial
    assert library.warnings == ()


@pytest.mark.parametrize("kind", ["syntax", "scenario", "test file", "other dataset"])
def test_exclusive_selection_checks_all_tasks_if_it_must(clinic: LibraryFolder, kind: str) -> None:
    clinic.write("broken.yml", BROKEN["task"].replace("Other", "Another"))
    clinic.write("other.yml", BROKEN[kind])
    library = load_only(clinic.root, "Book a visit")
    assert not library.is_partial
    [warning] = [str(each) for each in library.warnings if "in other files" in str(each)]
    assert not warning.startswith("1 mistake")


def test_selection_by_file_loads_the_tasks_of_the_file_only(clinic: LibraryFolder) -> None:
    clinic.write("other.yml", BROKEN["task"])
    library = load_only(clinic.root / "book.yml")
    assert list(library.tasks) == ["Book a visit"]


def test_exclusive_selection_of_an_unknown_name_loads_all_tasks(clinic: LibraryFolder) -> None:
    clinic.write("other.yml", "task: {name: Other, task_item: {instruction: x}}\n")
    library = load_only(clinic.root, "nothing")
    assert sorted(library.tasks) == ["Book a visit", "Other"]
    assert not library.is_partial


PARTS = ("book", "Book", "visit", "p-1", "*", "?", "[", "]", " ", "Book a visit", "late")


@settings(deadline=None, max_examples=examples(60))
@given(
    st.dictionaries(
        st.sampled_from(("book", "visit", "late", "p-1")),
        st.tuples(st.sampled_from(("Book", "Book a visit", "late", "Visit p-1", "visit [p-1]")), st.booleans()),
        max_size=4,
    ),
    st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("".join), min_size=1, max_size=2),
)
def test_exclusive_selection_finds_the_same_tasks_as_one_of_all_tasks(
    files: dict[str, tuple[str, bool]], patterns: list[str]
) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        people = PEOPLE.replace("p-1}", "p-1}, {type: Patient, id: p-2}")
        for name, text in {"clinic": CLINIC, "people": people, "kept": TASK_OF.format("kept", "")}.items():
            (root / f"{name}.yml").write_text(text)
        for name, (task, is_template) in files.items():
            (root / f"{name}.yml").write_text(TASK_OF.format(task, FOR_EACH if is_template else ""))
        assert select(root, patterns, is_exclusive=True) == select(root, patterns, is_exclusive=False)


FOR_EACH = "for_each: {id: who, dataset: people, type: Patient}, "
TASK_OF = "task: {{name: '{}', {}task_item: {{instruction: x}}}}\n"


def select(root: Path, patterns: list[str], *, is_exclusive: bool) -> list[str] | str:
    """Return the names of the selected tasks, or the error."""
    try:
        library = load_library(root, CATALOG, tasks=TaskSelection(tuple(patterns), is_exclusive=is_exclusive))
        return [loaded.task.name for loaded in library.select(names=patterns)]
    except InputError as error:
        return str(error)
