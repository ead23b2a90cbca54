"""Every module can be imported where the system lacks what only Unix has."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import clerkship

ROOT = Path(clerkship.__file__).parent
ONLY_UNIX = re.compile(r"^(?:import|from) (?:fcntl|grp|pwd|resource|termios|tty)\b", re.MULTILINE)
IMPORT_ALL = """
import importlib, pkgutil, sys
import asyncssh, asyncio, clerkship, multiprocessing.util, subprocess  # which have their own ways there
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
failed = []
names = [module.name for module in pkgutil.walk_packages(clerkship.__path__, "clerkship.")]
for name in names:
    try:
        if not name.endswith("__main__"):
            importlib.import_module(name)
    except ImportError as error:
        failed.append(f"{name}: {error}")
assert len(names) > 1000
assert not failed, failed
"""


def test_no_module_imports_what_only_unix_has_when_it_is_imported() -> None:
    found = [path.relative_to(ROOT) for path in ROOT.rglob("*.py") if ONLY_UNIX.search(path.read_text("utf-8"))]
    assert found == []


@pytest.mark.slow
def test_every_module_can_be_imported_without_what_only_unix_has() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
