"""The agents of `examples/browser_agents` solve the task of a new project, each with a browser of its own."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from clerkship.service.scaffold import create_project
from tests.actors.servers import Served
from tests.clients.browser_agents.scripted_model import answer_chat
from tests.clients.conftest import installed
from tests.clients.installs import CannotInstall, python_environment
from tests.command_server import get_command_path
from tests.report.browser import PROGRAM

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "browser_agents"
GUIDE = ROOT / "docs" / "guide" / "browser_agent.md"
REQUIREMENTS = Path(__file__).parent / "programs" / "browser_use.txt"

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A new project with a payer portal, and the agents beside it."""
    create_project(tmp_path / "clinic", "portal")
    for source in EXAMPLES.glob("with_*"):
        shutil.copy(source, tmp_path / "clinic")
    return tmp_path / "clinic"


def run(project: Path, agent: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """Run the task of the project with an agent."""
    environment = os.environ | {"PATH": get_command_path()} | environ
    command = ["clerkship", "run", "practice", "--agent", agent]
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=240
    )


def assert_passes(done: "subprocess.CompletedProcess[str]") -> None:
    """Check that the task passed."""
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "✓ pass 1" in done.stdout


def test_playwright_in_python_passes(project: Path) -> None:
    assert_passes(run(project, "python:with_playwright:on_task"))


def test_trial_without_a_browser_says_how_to_install_one(project: Path, tmp_path: Path) -> None:
    environ = {"PATH": get_command_path().partition(os.pathsep)[0], "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    done = run(project, "python:with_playwright:on_task", **environ)
    assert done.returncode == 1
    assert "playwright install" in done.stdout


@pytest.mark.slow
def test_playwright_in_node_passes(project: Path) -> None:
    (project / "node_modules").symlink_to(installed("playwright-core") / "node_modules")
    assert_passes(run(project, "command:node with_playwright.mjs", CHROMIUM=str(PROGRAM)))


def test_browser_use_with_a_model_passes(project: Path) -> None:
    try:
        python = python_environment("browser-use", REQUIREMENTS)
    except CannotInstall as problem:
        pytest.skip(str(problem))
    with Served(answer_chat) as model:
        agent = f"command:{shlex.quote(str(python))} with_browser_use.py"
        assert_passes(run(project, agent, OPENAI_BASE_URL=f"{model.url}/v1", OPENAI_API_KEY="sk-of-ours"))
        asked = b"".join(each.body for each in model.asked)
    assert b"clk_sbx_" not in asked  # the model never sees the password


def test_the_guide_quotes_the_examples() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    sources = [each.read_text(encoding="utf-8") for each in sorted(EXAMPLES.glob("with_*"))]
    quoted = re.findall(r"^```(?:js|python)\n(?!# file: )(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(quoted) == 2
    for block in quoted:
        lines = [line.strip() for line in block.splitlines()]
        assert any(all(line in source for line in lines) for source in sources), block
