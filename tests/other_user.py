"""Run a command as a user without privileges, from a test that runs as root.

`python -m tests.other_user PROGRAM ARGUMENT…` is meant for a new mount namespace: where the Python of the tests lies
in a folder that only root can search, as `/root` often is, that folder is replaced by one that everybody can search.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest

USER = 65534  # nobody
_NEEDED = (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parent.parent)
"""What the command reads: Python, the installed packages, and the repository."""


def run_as_other_user(words: list[str], home: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command as a user who owns only a new home folder; skip the test if this user cannot do that."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root can run a command as another user, with `unshare`")
    os.chown(home, USER, USER)
    unshare = ["unshare", "--mount", "--propagation", "private"]
    if subprocess.run([*unshare, "true"], capture_output=True, timeout=30, check=False).returncode:
        pytest.skip("this machine refuses new mount namespaces")
    return subprocess.run(
        [*unshare, sys.executable, "-m", __name__, *words],
        cwd=_NEEDED[-1],
        env={**os.environ, "HOME": str(home), "TMPDIR": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _find_closed_folders() -> dict[Path, list[Path]]:
    """Return the outermost folders that other users cannot search, each with what the command needs in it."""
    closed = defaultdict[Path, list[Path]](list)
    for path in sorted({path.resolve() for path in _NEEDED}):
        around = [parent for parent in reversed(path.parents) if not parent.stat().st_mode & 0o001]
        if around:
            closed[around[0]].append(path)
    return closed


def _open_folder(folder: Path, needed: list[Path]) -> None:
    """Replace a folder in this mount namespace by one that contains only what is needed."""
    kept = {path: tempfile.mkdtemp() for path in needed}
    for path, place in kept.items():
        subprocess.run(["mount", "--bind", path, place], timeout=30, check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", folder], timeout=30, check=True)
    for path, place in kept.items():
        path.mkdir(parents=True)
        subprocess.run(["mount", "--move", place, path], timeout=30, check=True)


def main(words: list[str]) -> None:
    """Open the folders, drop all privileges, and execute the command."""
    for folder, needed in _find_closed_folders().items():
        _open_folder(folder, needed)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    os.execvp(words[0], words)


if __name__ == "__main__":
    main(sys.argv[1:])
