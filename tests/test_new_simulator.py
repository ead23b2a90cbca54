"""`make new-simulator` creates a simulator that passes the project's checks."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clerkship.model.errors import InputError
from scripts.new_simulator import main, register

ROOT = Path(__file__).parent.parent


def _copy_project(folder: Path, *names: str) -> Path:
    """Copy the files that the checks read."""
    for name in names:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def _run(project_copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": f"{project_copy / 'src'}{os.pathsep}{project_copy}"}
    return subprocess.run(
        words, cwd=project_copy, env=environment, capture_output=True, text=True, check=False, timeout=180
    )


def _do(project_copy: Path, *words: str) -> str:
    done = _run(project_copy, sys.executable, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _create_simulator(project_copy: Path) -> str:
    return _do(project_copy, "scripts/new_simulator.py", "night_bell")


def test_new_simulator_conforms_and_is_written_once(tmp_path: Path) -> None:
    project_copy = _copy_project(tmp_path, "src", "scripts")
    assert "+ src/clerkship/simulators/night_bell/state.py" in _create_simulator(project_copy)
    _do(project_copy, "-m", "ruff", "check", "--quiet", "--fix", "--select", "I", "src/clerkship/simulators")
    _do(project_copy, "-m", "ruff", "format", "--quiet", "src/clerkship/simulators")
    _do(project_copy, "-m", "ruff", "check", "--quiet", "src/clerkship/simulators")
    assert "14 of 14 checks pass" in _do(project_copy, "-m", "clerkship", "conformance", "night_bell")
    written = "".join(path.read_text() for path in (project_copy / "src/clerkship/simulators/night_bell").rglob("*.py"))
    assert "clerkship.plugin" not in written
    again = _run(project_copy, sys.executable, "scripts/new_simulator.py", "night_bell")
    assert (again.returncode, again.stderr) == (2, "there is a `night_bell` already\n")


@pytest.mark.slow
def test_new_simulator_follows_the_project_rules(tmp_path: Path) -> None:
    project_copy = _copy_project(tmp_path, "src", "scripts", "tests")
    _create_simulator(project_copy)
    said = _do(
        project_copy,
        "-m",
        "pytest",
        "-q",
        "tests/checks/conformance",
        "tests/test_architecture.py",
        "-k",
        "night_bell or lower_layers or cycles or layer_list or imports_another or is_short or methods",
    )
    assert " passed" in said


@pytest.mark.parametrize("name", ["", "Pager", "acme.pager", "registry", "files"])
def test_invalid_name_is_an_error(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted((ROOT / "src/clerkship/simulators").iterdir())
    assert main([name]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert sorted((ROOT / "src/clerkship/simulators").iterdir()) == before


REGISTRY = """KINDS: tuple[KindEntry, ...] = (
    KindEntry(kind="chat", steps={"chat.say": ()}),
    KindEntry(
        kind="files",
        filters=("x",),
    ),
)
"""


def test_new_simulator_is_added_to_the_registry() -> None:
    [listed] = ast.parse(register(REGISTRY, "bell")).body
    assert isinstance(listed, ast.AnnAssign)
    assert isinstance(listed.value, ast.Tuple)
    assert [ast.unparse(entry) for entry in listed.value.elts] == [
        "KindEntry(kind='chat', steps={'chat.say': ()})",
        "KindEntry(kind='files', filters=('x',))",
        "KindEntry(kind='bell', assertions={'bell_message_sent': ()}, steps={'bell.receive': ()})",
    ]


def test_unexpected_registry_format_is_an_error() -> None:
    with pytest.raises(InputError, match="is not as this script knows it"):
        register("KINDS = ()\n", "bell")
