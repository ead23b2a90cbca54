"""Every module can be imported where the system lacks what only Unix has."""

import subprocess
import sys

import pytest

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
        failed.append(f"{module.name}: {error}")
assert len(names) > 1000
assert not failed, failed
"""


@pytest.mark.long
def test_every_module_can_be_imported_without_what_only_unix_has() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
