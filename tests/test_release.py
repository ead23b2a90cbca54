"""A release: one version, and files that fit it."""

import re
import subprocess
import tomllib
from pathlib import Path

from clerkship import __version__

ROOT = Path(__file__).parent.parent
VERSIONED = {"src/clerkship/__init__.py", "CHANGELOG.md", "src/clerkship/api/examples.json"}
"""Where the version is written, what says what it changed, and what `make docs` writes."""


def test_version_is_written_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"] == {"path": "src/clerkship/__init__.py"}
    pattern = rf"clerkship.{{0,12}}\b{re.escape(__version__)}\b"
    found = subprocess.run(
        ["git", "grep", "--name-only", "-iE", pattern],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert {*found.stdout.split()} - VERSIONED == set(), "read clerkship.__version__ instead"
    guide = (ROOT / "docs" / "guide" / "in_ci.md").read_text(encoding="utf-8")
    assert re.findall(r"/clerkship@v([\d.]+)", guide) == [__version__]


def test_image_has_all_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"^ARG EXTRAS=(.*)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert extras.split(",") == [*project["optional-dependencies"]]
