"""Installed packages for tests: the code, and a dist-info with entry points."""

import os
import shutil
import subprocess
from pathlib import Path

from clerkship.service.scaffold_plugin import create_simulator
from tests.command_server import get_command_path

HEALTHY = """
from typing import ClassVar
from clerkship.plugin import Assertion, Check, Evidence, Plugin

class Fine(Assertion):
    "Always holds."
    name: ClassVar[str] = "{prefix}.fine"

    def check(self, evidence: Evidence) -> Check:
        return Check.of(True, "fine")

PLUGIN = Plugin(contract=2, assertions=(Fine,))
"""


def install_package(
    site: Path, package: str, source: str | None, prefix: str = "acme", value: str = "", version: str = "0.1.0"
) -> None:
    """Install a package; without a source, only its metadata."""
    if source is not None:
        (site / package).mkdir(parents=True)
        (site / package / "__init__.py").write_text(source, encoding="utf-8")
    project = package.replace("_", "-")
    about = site / f"{package}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n", encoding="utf-8")
    point = f"[clerkship.plugins]\n{prefix} = {value or f'{package}:PLUGIN'}\n"
    (about / "entry_points.txt").write_text(point, encoding="utf-8")


def install_simulator(site: Path, name: str = "acme.pager", more: str = "") -> Path:
    """Install the package that `clerkship new simulator` writes, with `more` added to it. Return the project."""
    package = name.replace(".", "_")
    create_simulator(name, site.parent / "work")
    project = site.parent / "work" / package
    shutil.copytree(project / "src" / package, site / package)
    spec = site / package / name.partition(".")[2] / "__init__.py"
    spec.write_text(spec.read_text(encoding="utf-8") + more, encoding="utf-8")
    install_package(site, package, None, name.partition(".")[0])
    return project


def clerkship(site: Path, *arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with these packages installed."""
    environment = os.environ | {"PATH": get_command_path(), "PYTHONPATH": str(site), **variables}
    command = ["clerkship", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120)
