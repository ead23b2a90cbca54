"""Clerkship's wheel and a plug-in package in a new environment, and the CI commands of a new project."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clerkship.suite_files.yaml import parse_yaml

ROOT = Path(__file__).parent.parent.parent
Shell = Callable[..., subprocess.CompletedProcess[str]]


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}


def install(*words: str) -> None:
    """Run `uv`."""
    done = subprocess.run(
        ["uv", "--quiet", *words],
        cwd=ROOT,
        env=_inherited(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clerkship's wheel."""
    if shutil.which("uv") is None:
        pytest.skip("uv is not installed")
    folder = tmp_path_factory.mktemp("dist")
    install("build", "--wheel", "--out-dir", str(folder))
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Shell:
    """A shell in an environment with Clerkship's wheel and pytest only."""
    folder = tmp_path_factory.mktemp("fresh")
    inherited = _inherited()
    install("venv", "--seed", "--python", sys.executable, str(folder / "venv"))
    install("pip", "install", "--python", str(folder / "venv"), str(wheel), "pytest")
    environment = inherited | {
        "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{inherited['PATH']}",
        "VIRTUAL_ENV": str(folder / "venv"),
    }

    def run(command: str, cwd: Path, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        line = ["bash", "-e", "-o", "pipefail", "-c", command]
        done = subprocess.run(
            line, cwd=cwd, env=environment | variables, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
        return done

    return run


@pytest.mark.slow
def test_scaffolded_simulator_can_be_installed_tested_used_and_removed(shell: Shell, tmp_path: Path) -> None:
    shell("clerkship new simulator acme_pager", tmp_path)
    project = tmp_path / "acme_pager"
    shell("uv pip install --quiet -e .", project)
    assert "✓ acme  acme-pager 0.1.0" in shell("clerkship plugins", project).stdout
    assert "16 passed" in shell("python -m pytest -q", project).stdout
    shell("clerkship run practice --agent oracle", project)
    state = project / "src" / "acme_pager" / "pager" / "state.py"
    state.write_text("oops\n" + state.read_text(encoding="utf-8"), encoding="utf-8")
    assert "NameError: name 'oops' is not defined (state.py:1)" in shell("clerkship plugins", project, code=2).stdout
    assert shell("clerkship demo", tmp_path).stderr.count("plug-in `acme` (acme-pager 0.1.0) is broken") == 1
    shell("uv pip uninstall --quiet acme-pager", project)
    said = shell("clerkship validate practice", project, code=2).stdout
    assert "unknown simulator `acme.pager`; no plug-in `acme` is installed" in said


@pytest.mark.slow
def test_ci_commands_pass_in_a_new_project(shell: Shell, wheel: Path, tmp_path: Path) -> None:
    shell("clerkship init", tmp_path)
    workflow = parse_yaml(
        (tmp_path / ".github/workflows/practice.yml").read_text(encoding="utf-8"), "practice.yml"
    ).data
    steps = workflow["jobs"]["practice"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert [step["uses"].partition("@")[0] for step in steps if "uses" in step] == [
        "actions/checkout",
        "actions/setup-python",
        "actions/upload-artifact",
    ]
    summary = tmp_path / "summary.md"
    assert "${{ vars.INSTALL_CLERKSHIP_FROM || '' }}" in str(workflow["env"])
    for command in commands:  # the first installs the same wheel again
        shell(command, tmp_path, GITHUB_STEP_SUMMARY=str(summary), INSTALL_CLERKSHIP_FROM=str(wheel))
    assert commands[0].startswith("pip install ")
    assert "Book a visit" in summary.read_text(encoding="utf-8")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["junit.xml", "report.html", "summary.md"]
    shutil.rmtree(tmp_path / "out")
    job = parse_yaml((tmp_path / ".gitlab-ci.yml").read_text(encoding="utf-8"), ".gitlab-ci.yml").data["practice"]
    for command in job["script"]:
        shell(command, tmp_path, INSTALL_CLERKSHIP_FROM=str(wheel))
    assert (tmp_path / job["artifacts"]["reports"]["junit"]).exists()
