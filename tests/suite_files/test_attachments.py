"""Files that steps refer to, beside the task and in datasets."""

import base64
from pathlib import Path
from typing import Any

import pytest

from clerkship.model.errors import InputError
from clerkship.suite_files.load import load_library
from tests.suite_files.library_folder import CATALOG, LibraryFolder

BINARY = bytes(range(256)) + b"{{ patient.mrn }}\r\n"


@pytest.fixture
def workspace(tmp_path: Path) -> LibraryFolder:
    """A clinic with a file drop, a patient, and files of a partner."""
    workspace = LibraryFolder(tmp_path / "suite")
    workspace.write(
        "clinic.yml",
        """\
        environment:
          name: clinic
          simulators: {drop: {kind: files}}
        datasets:
          - name: patients
            type: records
            records: [{id: p1, mrn: "M-1", name: Maria Lopez}]
          - {name: partner, type: files, folder: partner}
        """,
    )
    (workspace.root / "partner" / "scans").mkdir(parents=True)
    (workspace.root / "partner" / "scans" / "page.tif").write_bytes(BINARY)
    return workspace


def task(workspace: LibraryFolder, step: str, name: str = "tasks/t.yml") -> None:
    """Write a task with one step."""
    workspace.write(
        name,
        f"""\
        task:
          name: A
          entities: [{{id: patient, dataset: patients, where: {{id: p1}}}}]
          scenario:
            steps:
              - {step}
        """,
    )


def args(workspace: LibraryFolder) -> Any:
    """Return the arguments of the step in the loaded task."""
    [loaded] = workspace.load().tasks.values()
    assert loaded.task.scenario is not None
    return loaded.task.scenario.steps[0].args


def test_template_file_beside_its_task_is_filled(workspace: LibraryFolder) -> None:
    task(workspace, "files.drop: {path: in/a.csv, template: texts/referral.csv}")
    (workspace.root / "tasks" / "texts").mkdir()
    written = "mrn;name\r\n{{ patient.mrn }};{{ patient.name | upper }}\r\n"
    (workspace.root / "tasks" / "texts" / "referral.csv").write_bytes(written.encode())
    assert args(workspace) == {"path": "in/a.csv", "text": "mrn;name\r\nM-1;MARIA LOPEZ\r\n"}


def test_template_file_with_one_expression_stays_text(workspace: LibraryFolder) -> None:
    workspace.write("tasks/n.txt", "{{ patient.mrn | length }}\n")
    task(workspace, "files.drop: {path: a, template: n.txt}")
    assert args(workspace) == {"path": "a", "text": "3\n"}


def test_path_of_a_template_file_may_be_a_template(workspace: LibraryFolder) -> None:
    workspace.write("tasks/p1.txt", "hers")
    task(workspace, 'files.drop: {path: a, template: "{{ patient.id }}.txt"}')
    assert args(workspace) == {"path": "a", "text": "hers"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.txt", "t.yml:6:41: task.scenario.steps.0.files.drop.template: none.txt: there is no such file"),
        ("../../out.txt", "template: ../../out.txt: it is outside the folder"),
        ("/etc/hostname", "template: /etc/hostname: it is outside the folder"),
        ("link.txt", "template: link.txt: it is outside the folder"),
        (".", "template: .: it is a folder"),
        ("large.txt", "template: large.txt: it has 1.1 MB; the limit is 1 MB"),
        ("binary.txt", "template: binary.txt: it is not a text file"),
        ("latin.txt", "template: latin.txt: it is not UTF-8 text"),
    ],
)
def test_unreadable_template_file_is_reported_at_its_key(workspace: LibraryFolder, name: str, message: str) -> None:
    outside = workspace.root.parent / "out.txt"
    outside.write_text("secret")
    task(workspace, f"files.drop: {{path: a, template: {name}}}")
    (workspace.root / "tasks" / "link.txt").symlink_to(outside)
    (workspace.root / "tasks" / "large.txt").write_text("x" * 1_100_000)
    (workspace.root / "tasks" / "binary.txt").write_bytes(b"a\0b")
    (workspace.root / "tasks" / "latin.txt").write_bytes("é".encode("latin-1"))
    [line] = workspace.lines()
    assert message in line


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_mistake_in_a_template_file_is_reported_at_its_line(workspace: LibraryFolder, end: str) -> None:
    task(workspace, "files.drop: {path: a, template: m.hl7}")
    text = f"MSH|^~\\&|{end}PID|1||{{{{ patient.mrm }}}}{end}"
    (workspace.root / "tasks" / "m.hl7").write_bytes(text.encode())
    assert workspace.lines() == ["tasks/m.hl7:2:8: unknown name `mrm` in `patient.mrm`; did you mean `mrn`?"]


def test_mistake_in_a_template_file_fails_only_the_requested_task(workspace: LibraryFolder) -> None:
    task(workspace, "files.drop: {path: a, template: m.txt}", "t.yml")
    workspace.write("m.txt", "{{ nobody }}")
    with pytest.raises(InputError) as caught:
        load_library(workspace.root / "t.yml", CATALOG)
    assert workspace.format_problems(caught.value.problems) == ["m.txt:1:1: unknown name `nobody`; known: now, patient"]


def test_file_of_a_dataset_is_copied_unchanged(workspace: LibraryFolder) -> None:
    task(workspace, "files.drop: {path: in/page.tif, dataset: partner, file: scans/page.tif, modified: 3d}")
    found = args(workspace)
    assert base64.b64decode(found.pop("base64")) == BINARY
    assert found == {"path": "in/page.tif", "modified": "3d"}


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            "dataset: partnr, file: scans/page.tif",
            "files.drop.dataset: unknown dataset `partnr`; did you mean `partner`?",
        ),
        ("dataset: partner, file: scans/pge.tif", "no file `scans/pge.tif` in the dataset `partner`; did you mean"),
        (
            "dataset: patients, file: x",
            "files.drop.dataset: `patients` is a dataset of type records, which has no files",
        ),
        ("dataset: partner", "`dataset` and `file` go together"),
        (
            "dataset: partner, file: scans/page.tif, text: a",
            "expected one of `text`, `base64`, `template`, and `dataset`",
        ),
        ("template: n.txt, text: a", "with `file`, not text and template"),
        ("base64: a b", "expected base64"),
        ("bytes: é", "expected base64"),
        ("text: a, modified: yesterday", "expected a time with its zone such as 2026-03-02T09:00:00Z, or an age"),
        ("text: a, modified: 2026-03-02T09:00:00", "has no zone"),
    ],
)
def test_invalid_dataset_file_reference_is_reported_at_its_key(
    workspace: LibraryFolder, step: str, message: str
) -> None:
    workspace.write("tasks/n.txt", "text")
    task(workspace, f"files.drop: {{path: a, {step}}}")
    [line] = workspace.lines()
    assert message in line


def test_too_large_file_is_rejected_with_a_hint(workspace: LibraryFolder) -> None:
    (workspace.root / "partner" / "large.bin").write_bytes(b"x" * 5_000_001)
    task(workspace, "files.drop: {path: a, dataset: partner, file: large.bin}")
    [line] = workspace.lines()
    assert "`large.bin` has 5.0 MB; the limit is 5 MB; add the dataset to the environment" in line


def test_files_of_a_scenario_file_are_not_templates(workspace: LibraryFolder) -> None:
    workspace.write("braces.txt", "{{ as it is }}")
    workspace.write(
        "s.yml",
        """\
        scenario:
          name: S
          simulation_context: Somebody.
          setup:
            person: {lines: [Hello]}
            steps: [{drop-file-inbox: {path: a.txt, template: braces.txt}}]
          goals: {criteria: [It answers.]}
        """,
    )
    workspace.write(
        "clinic.yml", "environment:\n  name: clinic\n  simulators: {chat: {kind: chat}, drop: {kind: files}}\n"
    )
    assert args(workspace) == {"path": "a.txt", "text": "{{ as it is }}"}
