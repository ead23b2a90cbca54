"""Differences of two published versions, in words."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.service.publishing import PublishRequest, publish
from clerkship.settings import Settings
from clerkship.suite_files.published.archive import open_archive
from clerkship.suite_files.published.comparing import compare_archives

CATALOG = RegisteredCatalog()
SUITE = """
environment: {name: desk, datasets: [patients], simulators: {drop: {kind: files, config: {folders: [inbox]}}}}
dataset:
  name: patients
  type: records
  records:
    - {id: p-1, name: Ann, born: 1970-01-01}
    - {id: p-2, name: Bob, born: 1980-01-01}
    - {id: p-3, name: Cy, born: 1990-01-01}
task:
  name: Book
  tags: [easy, booking]
  entities: [{id: patient, dataset: patients, where: {id: p-1}}]
  task_item: {instruction: Book a visit, day: Monday}
  scenario:
    steps:
      - files.drop: {path: inbox/a.txt, text: one}
      - files.drop: {path: inbox/b.txt, text: two}
      - files.drop: {path: inbox/c.txt, text: three}
  criteria:
    - {label: It is written, assertion: {file_present: {path: a.txt}}}
    - {label: It is whole, weight: 2, gate: true, assertion: {file_present: {path: b.txt, text: {contains: two}}}}
"""
Change = Callable[[dict[str, Any]], object]


def compare(folder: Path, *changes: Change) -> list[str]:
    """Publish the suite and a changed copy of it, and return their differences."""
    archives = []
    for version, applied in ((1, ()), (2, changes)):
        data: dict[str, Any] = yaml.safe_load(SUITE)
        for change in applied:
            change(data)
        suite = folder / f"suite-{version}"
        suite.mkdir()
        (suite / "suite.yml").write_text(yaml.safe_dump(data, sort_keys=False))
        request = PublishRequest(path=suite, name=f"desk@{version}", to=folder)
        [published] = publish(request, Settings(), CATALOG)
        archives.append(open_archive(published.path))
    return compare_archives(*archives)


def set_at(*path: Any, value: object) -> Change:
    """Return a change that sets one value."""

    def change(data: dict[str, Any]) -> None:
        inner: Any = data
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


CASES: Mapping[str, tuple[Change, list[str]]] = {
    "criterion": (
        set_at("task", "criteria", 1, "assertion", "file_present", "text", value={"contains": "four"}),
        ["Book: criterion `It is whole` changed: file_present.text.contains: two → four"],
    ),
    "weight and gate": (
        lambda data: data["task"]["criteria"][1].update(weight=3, gate=False),
        ["Book: criterion `It is whole` changed: weight: 2 → 3; gate: yes → no"],
    ),
    "label": (
        set_at("task", "criteria", 0, "label", value="It is there"),
        ["Book: criterion renamed: It is written → It is there"],
    ),
    "order of criteria": (
        lambda data: data["task"]["criteria"].reverse(),
        ["Book: criterion: the order changed"],
    ),
    "inserted step": (
        lambda data: data["task"]["scenario"]["steps"].insert(
            0, {"files.drop": {"path": "inbox/0.txt", "text": "zero"}}
        ),
        ["Book: step 1 added: files.drop"],
    ),
    "removed step": (
        lambda data: data["task"]["scenario"]["steps"].pop(1),
        ["Book: step 2 removed: files.drop"],
    ),
    "changed step": (
        set_at("task", "scenario", "steps", 2, "files.drop", "text", value="3"),
        ["Book: step 3 (files.drop) changed: text: three → 3"],
    ),
    "entity": (
        set_at("task", "entities", 0, "where", "id", value="p-2"),
        ["Book: record `patient` is another one: p-1 → p-2"],
    ),
    "bound record": (
        set_at("dataset", "records", 0, "born", value="1971-01-01"),
        [
            "dataset patients: 1 record changed: p-1",
            "Book: record `patient` (p-1) changed: born: 1970-01-01 → 1971-01-01",
        ],
    ),
    "records": (
        lambda data: data["dataset"]["records"].__setitem__(2, {"id": "p-4", "name": "Di", "born": "2000-01-01"}),
        ["dataset patients: 1 record added: p-4", "dataset patients: 1 record removed: p-3"],
    ),
    "tags": (set_at("task", "tags", value=["hard", "booking"]), ["Book: tag added: hard", "Book: tag removed: easy"]),
    "task item": (
        set_at("task", "task_item", "day", value="Tuesday"),
        ["Book: task_item.day: Monday → Tuesday"],
    ),
    "order of keys": (
        set_at("task", "task_item", value={"day": "Monday", "instruction": "Book a visit"}),
        ["Book: task_item: the order of its keys changed"],
    ),
    "environment": (
        set_at("environment", "simulators", "drop", "config", "folders", value=["inbox", "done"]),
        ["environment desk: simulators.drop.config.folders[1] added: done"],
    ),
    "name of the task": (set_at("task", "name", value="Book it"), ["task renamed: Book → Book it"]),
    "nothing": (lambda data: None, []),
}


@pytest.mark.parametrize("case", CASES)
def test_each_change_is_named_and_nothing_else(case: str, tmp_path: Path) -> None:
    change, expected = CASES[case]
    assert compare(tmp_path, change) == expected


def test_many_changes_of_one_step_are_counted(tmp_path: Path) -> None:
    changed = {"path": "inbox/d.txt", "text": "d", "sandbox": "drop", "modified": "3d", "complete": True}
    [difference] = compare(tmp_path, set_at("task", "scenario", "steps", 0, "files.drop", value=changed))
    assert difference.startswith("Book: step 1 (files.drop) changed: ")
    assert difference.endswith("; 2 more")
