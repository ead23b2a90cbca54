"""A small lending library as a dataset of tables, for tests to vary."""

from pathlib import Path

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.model.dataset import Dataset
from clerkship.playground.sandbox import prepare_simulator
from clerkship.simulators.tables import SPEC
from clerkship.simulators.tables.config import TablesConfig
from clerkship.simulators.tables.exercise import DATASET
from clerkship.simulators.tables.source import FILE

FUNCTIONS = DATASET.files[FILE].decode()
FILES = {
    "library/functions.py": FUNCTIONS,
    "library/devices.json": '{"pump-1": {"kind": "pump", "loan": null}, "bed-1": {"kind": "bed", "loan": null}}',
    "library/loans.json": "[]",
    "library/policy.md": "Lend each device once.\n",
    "library/dataset.yml": """
        dataset:
          name: library
          type: tables
          tables: {devices: devices.json, loans: {file: loans.json, key: number}}
          functions: functions.py
          policy: policy.md
        """,
    "desk.yml": "environment: {name: desk, datasets: [library], simulators: {desk: {kind: tables}}}",
}


def write_task(criteria: str, more: str = "") -> str:
    """Return a file with a task that has these criteria."""
    return f"""
task:
  name: Lend the pump
  environment: desk
  task_item: {{instruction: Lend pump-1 to ward A.}}
  {more}
  criteria:
    - label: as expected
      assertion: {criteria}
"""


def write_files(folder: Path, **changed: str) -> None:
    """Write the files of the library; `changed` replaces some, by the name without its folder and suffix."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changed.get(path.stem, text), encoding="utf-8")


def open_rig(functions: str = FUNCTIONS, config: TablesConfig | None = None) -> SimulatorRig:
    """Open a playground over the devices with other functions."""
    dataset = Dataset(
        name="library", type="tables", records=DATASET.records, files={**DATASET.files, FILE: functions.encode()}
    )
    prepared = prepare_simulator(SPEC, config or TablesConfig(), SPEC.prepare((dataset,)))
    return SimulatorRig(prepared.spec, prepared=prepared)
