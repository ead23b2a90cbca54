"""Dataset types, finders, filters, schemas and scaffolds of plug-ins work like built-in ones."""

from pathlib import Path
from typing import Any

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.service.scaffold_task import create_task
from clerkship.service.schemas import build_schema
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore
from clerkship.suite_files.load import load_library
from tests.plugin.outside import install_package, install_simulator

ROSTER = """
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from clerkship.plugin import (
    BadBinding, Dataset, DatasetFile, DatasetSource, DatasetType, RecordFinder, RecordView, TaskScaffold, Unreadable,
)
from pydantic import Field


class RosterFile(DatasetFile):
    "Who is on call."
    type: Literal["acme.roster"]
    file: Annotated[str, Field(description="a line for each ward: name=number")]
    shift: Annotated[str, Field(description="day or night")] = "day"


class Ward(RecordView):
    def get(self, key, default=None):
        return f"{self['name']} ({self['shift']})" if key == "label" else super().get(key, default)


class WardFinder(RecordFinder):
    def find(self, query, now):
        if query.type not in (None, "Ward") or query.where.keys() - {"name", "number"}:
            raise BadBinding(f"`{query.id}`: a roster has wards, with `name` and `number`")
        return super().find(query.model_copy(update={"type": None}), now)

    def view(self, record, now):
        return Ward(record)


def read(path: Path):
    lines = path.read_text().splitlines()
    if not all("=" in line for line in lines):
        raise Unreadable("a line has no `=`", "write name=number")
    return [line.split("=") for line in lines]


def load(written: RosterFile, source: DatasetSource):
    pairs = source.read("file", written.file, read)
    if pairs is None:
        return None
    records = tuple({"name": name, "number": number, "shift": written.shift} for name, number in pairs)
    return Dataset(name=written.name, type=written.type, records=records)


ROSTER = DatasetType(
    name="acme.roster", summary="who is on call", model=RosterFile, load=load, finder=WardFinder,
    built_in={},
)
SPEC = replace(
    SPEC,
    dataset="acme.roster",
    prepare=lambda datasets: {r["name"]: r["number"] for dataset in datasets for r in dataset.records},
    dataset_types=(ROSTER,),
    filters={"acme.digits": lambda value, _, text: "".join(c for c in text(value) if c.isdigit())},
    scaffold=TaskScaffold(
        task_item="instruction: Page ward 3.\\n",
        criteria="- label: Paged\\n  assertion: {acme.pager_message_sent: {sandbox: «sandbox», to: ward 3}}\\n",
        solution="sandboxes[«sandbox»].send('ward 3', 'Call us.')\\n",
    ),
)
"""
TASK = """
environment: {name: hospital, datasets: [nights], simulators: {ward: {kind: acme.pager}}}
dataset: {name: nights, type: acme.roster, file: nights.txt, shift: night}
task:
  name: Page them
  entities: [{id: three, dataset: nights, type: Ward, where: {name: ward 3}}]
  task_item: {to: "{{ three.label }}"}
  scenario:
    - acme.pager.receive: {sender: "{{ three.number | acme.digits }}", text: "Call {{ three.name }}."}
  criteria:
    - label: called
      assertion: {event_occurred: {event: acme.pager.message.received, where: {sender: "5550103"}}}
  allow_inaction: true
"""


@pytest.fixture
def folder(site: Path, tmp_path: Path) -> Path:
    """A folder of tasks, with the plug-in installed."""
    install_simulator(site, more=ROSTER)
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "nights.txt").write_text("ward 3=555-0103\nward 4=555-0104\n", encoding="utf-8")
    (suite / "task.yml").write_text(TASK, encoding="utf-8")
    return suite


def test_a_task_uses_a_plugins_dataset_type_finder_and_filter(folder: Path, tmp_path: Path) -> None:
    catalog = RegisteredCatalog()
    assert catalog.broken == []
    library = load_library(folder, catalog)
    assert library.warnings == ()
    assert library.tasks["Page them"].task.task_item == {"to": "ward 3 (night)"}
    plan = plan_run(RunRequest(path=folder, agent="nop"), Settings(), catalog)
    store = SqliteStore(tmp_path / "store.db")
    assert execute(plan, store, catalog).exit_code() == 0, store.task_runs(plan.run.id)
    store.close()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("where: {name: ward 3}", "where: {floor: 3}", "task.entities.0: `three`: a roster has wards, with `name`"),
        ("file: nights.txt", "file: task.yml", "dataset.file: task.yml: a line has no `=`; write name=number"),
        ("shift: night", "shft: night", "dataset.shft: unknown key `shft`; did you mean `shift`?"),
        ("acme.digits", "acme.digit", "unknown filter `acme.digit`; did you mean `acme.digits`?"),
        ("acme.roster", "acme.rota", "unknown dataset type `acme.rota`; did you mean `acme.roster`?"),
    ],
)
def test_mistake_is_reported_with_its_place(folder: Path, old: str, new: str, message: str) -> None:
    (folder / "task.yml").write_text(TASK.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_library(folder, RegisteredCatalog())
    assert any(message in str(problem) for problem in caught.value.problems), caught.value.problems


def test_keys_of_a_dataset_type_are_in_the_schema(folder: Path) -> None:
    forms: list[dict[str, Any]] = build_schema("dataset", RegisteredCatalog())["properties"]["dataset"]["anyOf"]
    by_type = {form["properties"]["type"]["const"]: form for form in forms}
    assert by_type.keys() == {"acme.roster", "fax_texts", "fhir", "files", "policies", "records", "tables"}
    assert by_type["acme.roster"]["properties"]["shift"]["description"] == "day or night"


def test_a_new_task_starts_from_its_scaffold(folder: Path, tmp_path: Path) -> None:
    catalog = RegisteredCatalog()
    create_task("A new one", folder, catalog)
    plan = plan_run(RunRequest(path=folder, agent="oracle", tasks=("A new one",)), Settings(), catalog)
    store = SqliteStore(tmp_path / "store.db")
    assert execute(plan, store, catalog).exit_code() == 0, store.task_runs(plan.run.id)
    store.close()


BARE = """
from clerkship.plugin import DatasetFile, DatasetType, Frozen, Plugin

class Written(DatasetFile):
    "x"

TYPE = DatasetType(name="acme.list", summary="x", model=Written, load=lambda written, source: None)
PLUGIN = Plugin(contract=2, {what})
"""


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("dataset_types=(Written,)", "one of its dataset types is the class Written (expected a DatasetType)"),
        (
            "dataset_types=(DatasetType(name='list', summary='', model=Written, load=print),)",
            "dataset type `list` does not start with its prefix, `acme.`",
        ),
        (
            "dataset_types=(DatasetType(name='acme.x', summary='', model=Frozen, load=print),)",
            "the model of the dataset type `acme.x` is not a subclass of DatasetFile",
        ),
        (
            "dataset_types=(DatasetType(name='acme.x', summary='', model=Written, load=print,"
            " built_in={'all': Written(name='all', type='acme.x')}),)",
            "the built-in dataset `all` does not start with its type, `acme.x.`",
        ),
        ("filters={'shout': str.upper}", "filter `shout` does not start with its prefix, `acme.`"),
        ("filters={'acme.shout': 5}", "the filter `acme.shout` is a int (expected a function)"),
        ("dataset_types=(TYPE, TYPE)", "the dataset type `acme.list` exists already"),
    ],
)
def test_plugin_with_invalid_data_extensions_is_broken(site: Path, what: str, reason: str) -> None:
    install_package(site, "acme_data", BARE.format(what=what))
    [broken] = RegisteredCatalog().broken
    assert broken.reason == reason
