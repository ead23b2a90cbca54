"""A small published suite, and archives that were changed on purpose with hashes that fit."""

import hashlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.service.publishing import Published, PublishRequest, publish
from clerkship.settings import Settings
from tests.suite_files.library_folder import LibraryFolder

CATALOG = RegisteredCatalog()
Contents = dict[str, Any]


def write_suite(root: Path) -> Path:
    """Write a suite with a task of every kind of entry: a dataset, an entity, a solution, a variant, a calibration."""
    folder = LibraryFolder(root)
    folder.write(
        "environment.yml",
        """\
        environment:
          name: clinic
          now: 2026-03-02T09:00:00-05:00
          datasets: [patients]
          simulators: {drop: {kind: files}}
        datasets:
          - name: patients
            type: records
            records: [{id: p1, mrn: M-1, name: Maria López}, {id: p2, mrn: M-2, name: Ann Lee}]
        """,
    )
    folder.write(
        "tasks/note.yml",
        """\
        task:
          name: Answer the note
          environment: clinic
          entities: [{id: patient, dataset: patients, where: {mrn: M-1}}]
          task_item: {instruction: "Answer with the name of {{ patient.mrn }}."}
          criteria: [{label: The name, assertion: {answer_matches: "{{ patient.name }}"}}]
          solution: solve.py
          wrong: [{name: the other patient, fails: The name, answer: Ann Lee}]
        """,
    )
    folder.write("tasks/solve.py", "def on_task(task_item, sandboxes):\n    return 'Maria López'\n")
    return folder.root


def publish_suite(suite: Path, to: Path, name: str = "note@1", **options: Any) -> list[Published]:
    """Publish a suite into a folder."""
    request = PublishRequest(path=suite, name=name, to=to, **options)
    return publish(request, Settings(), CATALOG)


def build_small_archive(folder: Path) -> bytes:
    """Return the bytes of a published suite."""
    return publish_suite(write_suite(folder / "suite"), folder / "to")[0].path.read_bytes()


def read_contents(data: bytes) -> Contents:
    """Return the entries of an archive by name; those that are JSON as data."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        raw = {name: file.read(name) for name in file.namelist()}
    return {name: orjson.loads(each) if name.endswith(".json") else each for name, each in raw.items()}


def pack_contents(contents: Contents) -> bytes:
    """Return an archive with these entries, with sizes and hashes in the manifest that fit."""
    raw = {name: _to_bytes(value) for name, value in contents.items() if name != "manifest.json"}
    described = {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in sorted(raw.items())
        if name != "signature.json"
    }
    manifest = contents["manifest.json"]
    if isinstance(manifest, dict) and isinstance(manifest.get("entries"), dict):
        manifest = {**manifest, "entries": described}
    head = {"manifest.json": _to_bytes(manifest)}
    return zip_entries([*head.items(), *sorted(raw.items())])


def change_contents(data: bytes, change: Callable[[Contents], object]) -> bytes:
    """Return an archive in which a function changed something, with hashes that fit."""
    contents = read_contents(data)
    change(contents)
    return pack_contents(contents)


def _to_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else orjson.dumps(value, option=orjson.OPT_INDENT_2)


def zip_entries(entries: list[tuple[str, bytes]], **fields: int) -> bytes:
    """Return a ZIP file in the layout of archives, by Python's own module, with some fields of the entries changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in entries:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o100644 << 16
            for field, value in fields.items():
                setattr(info, field, value)
            file.writestr(info, data)
    return buffer.getvalue()


def find_entry(contents: Contents, start: str) -> str:
    """Return the name of the first entry of a folder."""
    return next(name for name in sorted(contents) if name.startswith(start))
