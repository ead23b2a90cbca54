"""The build backend: Hatchling, with the published suites in every wheel.

Freezing suites needs what the package needs to run. A hook of Hatchling would ask for that in editable installs too,
which every `uv sync` would wait for; here only a wheel asks for it.
"""

import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

from hatchling import build
from hatchling.build import *  # noqa: F403 - the other hooks of PEP 517 and PEP 660

ROOT = Path(__file__).resolve().parent.parent
Config = dict[str, Any] | None


def get_requires_for_build_wheel(config_settings: Config = None) -> list[str]:
    """Return what Hatchling needs, and what the package needs to run."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*build.get_requires_for_build_wheel(config_settings), *project["dependencies"]]


def build_wheel(wheel_directory: str, config_settings: Config = None, metadata_directory: str | None = None) -> str:
    """Publish the suites into the package, and build a wheel. End with a message if a suite has not its digest."""
    problems = import_module("scripts.publish").publish_shipped()
    if problems:
        sys.exit("\n".join(problems))
    name: str = build.build_wheel(wheel_directory, config_settings, metadata_directory)
    return name
