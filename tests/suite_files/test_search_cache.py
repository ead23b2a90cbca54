"""The cache of searches in datasets never changes a result."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.suite_files import dataset_type
from clerkship.suite_files.load import load_library
from tests.examples import examples

CATALOG = RegisteredCatalog()
CLINIC = "environment: {name: clinic, datasets: [people], simulators: {ehr: {kind: fhir}}}\n"
DATASET = "dataset: {name: people, type: fhir, file: people.ndjson}\n"
TASK = """\
task:
  name: Find
  entities: [{{id: who, dataset: people, type: Patient, where: {}}}]
  task_item: {{instruction: "{{{{ who.id }}}} {{{{ who.birthDate }}}}"}}
"""
FAMILIES, DATES = ("Lee", "Ngo", "Lé"), ("1960-01-01", "1970-02-02")
SEARCHES = (
    *({"family": family} for family in FAMILIES),
    *({"birthdate": date} for date in DATES),
    {"family:exact": "Lee", "birthdate": "ge1965-01-01"},
    {"name.family": "Lee"},
    {"_sort": "birthdate", "_count": 1},
    {"id": "p-0"},
    {"nothing": "x"},
)
PATIENTS = st.lists(st.tuples(st.sampled_from(FAMILIES), st.sampled_from(DATES)), min_size=1, max_size=3)
EDITS = st.lists(
    st.one_of(PATIENTS, st.sampled_from(SEARCHES), st.sampled_from(("delete", "cut", "other"))), max_size=6
)


def write_patients(folder: Path, patients: list[tuple[str, str]]) -> None:
    lines = [
        {"resourceType": "Patient", "id": f"p-{number}", "name": [{"family": family}], "birthDate": date}
        for number, (family, date) in enumerate(patients)
    ]
    (folder / "people.ndjson").write_text("\n".join(map(json.dumps, lines)))


def spoil(cache: Path, how: str) -> None:
    """Delete the files of the cache, cut them, or replace them by others."""
    for file in [path for path in cache.rglob("*") if path.is_file()]:
        if how == "delete":
            file.unlink()
        else:
            data = file.read_bytes()
            file.write_bytes(data[: len(data) // 2] if how == "cut" else b"{}\n{}")


def load(folder: Path, cache: Path | None) -> dict[str, str] | str:
    """Return the hash of each task, or the mistakes."""
    try:
        library = load_library(folder, CATALOG, cache=cache)
    except InputError as error:
        return str(error)
    return {name: library.snapshot(task, 1).hash for name, task in library.tasks.items()}


@settings(deadline=None, max_examples=examples(40))
@given(PATIENTS, EDITS)
def test_any_edits_give_the_same_tasks_with_and_without_the_cache(
    patients: list[tuple[str, str]], edits: list[list[tuple[str, str]] | dict[str, str] | str]
) -> None:
    with TemporaryDirectory() as place:
        folder, cache = Path(place, "suite"), Path(place, "cache")
        folder.mkdir()
        (folder / "clinic.yml").write_text(CLINIC)
        (folder / "people.yml").write_text(DATASET)
        (folder / "task.yml").write_text(TASK.format(json.dumps(SEARCHES[0])))
        write_patients(folder, patients)
        for edit in [*edits, ""]:
            assert load(folder, cache) == load(folder, None)
            if isinstance(edit, list):
                write_patients(folder, edit)
            elif isinstance(edit, dict):
                (folder / "task.yml").write_text(TASK.format(json.dumps(edit)))
            elif edit:
                spoil(cache, edit)


def test_kept_searches_are_used_and_bounded(tmp_path: Path) -> None:
    searches = dataset_type.SearchCache(tmp_path / "searches" / "key")
    for number in range(dataset_type.MAX_SEARCHES + 1):
        searches.add(str(number), [f"Patient/{number}"])
    searches.save()
    again = dataset_type.SearchCache(tmp_path / "searches" / "key")
    assert again.get(str(dataset_type.MAX_SEARCHES)) == [f"Patient/{dataset_type.MAX_SEARCHES}"]
    assert again.get("0") is None
    for number in range(dataset_type.MAX_ENTRIES + 5):
        other = dataset_type.SearchCache(tmp_path / "searches" / f"key-{number}")
        other.add("x", [])
        other.save()
    assert len(list((tmp_path / "searches").iterdir())) == dataset_type.MAX_ENTRIES
