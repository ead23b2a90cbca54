"""Third-party programs that tests run: installed once under .cache, each apart from the project's own packages."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CACHE = Path(__file__).parent.parent.parent / ".cache" / "clients"
MAX_INSTALL_SECONDS = 300


class CannotInstall(Exception):
    """A program could not be installed, because there is no network or no such program."""


@contextmanager
def install_lock(folder: Path) -> Iterator[None]:
    """Hold the lock on a folder: parallel test workers wait until the first of them has installed the program."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def python_environment(name: str, requirements: Path, base: Path = Path(sys.executable)) -> Path:
    """Return the Python of an environment that has what the file requires. Raises `CannotInstall`.

    `base` is the Python that the environment is made with, for packages that need another version than the project.
    """
    folder = CACHE / f"{name}-py{read_version(base)}"
    done, wanted = folder / "installed.txt", requirements.read_text(encoding="utf-8")
    python = folder / "bin" / "python"
    with install_lock(folder):
        if not done.is_file() or done.read_text(encoding="utf-8") != wanted:
            for command in install_commands(folder, python, requirements, base):
                run_installer(name, command)
            done.write_text(wanted, encoding="utf-8")
    return python


def find_python(*versions: str) -> Path:
    """Return a Python of one of these versions, such as `3.12`. Raises `CannotInstall`."""
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    for version in versions:
        named = shutil.which(f"python{version}")
        installed = [path for root in roots for path in sorted(root.glob(f"{version}.*/bin/python{version}"))]
        for python in [*installed, *([Path(named)] if named else [])]:
            with suppress(CannotInstall):
                if read_version(python) == version:
                    return python
    raise CannotInstall(f"there is no Python {' or '.join(versions)} on this machine")


def read_version(python: Path) -> str:
    """Return the version of a Python, such as `3.12`. Raises `CannotInstall` if it does not start."""
    if python == Path(sys.executable):
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    command = [str(python), "-I", "-S", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError) as problem:
        raise CannotInstall(f"{python} does not start: {problem}") from None


def install_commands(folder: Path, python: Path, requirements: Path, base: Path) -> list[list[str]]:
    """Return the commands that make the environment: with uv, or with what Python brings."""
    uv = shutil.which("uv")
    if uv is not None:
        return [
            [uv, "venv", "-q", "--clear", "-p", str(base), str(folder)],
            [uv, "pip", "install", "-q", "-p", str(python), "-r", str(requirements)],
        ]
    return [
        [str(base), "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", str(requirements)],
    ]


def run_installer(name: str, command: list[str]) -> None:
    """Run an installer outside the project, where uv would apply the project's pins."""
    hidden = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
    inherited = {key: value for key, value in os.environ.items() if key not in hidden}
    with tempfile.TemporaryDirectory() as outside:
        try:
            done = subprocess.run(
                command,
                cwd=outside,
                env=inherited,
                capture_output=True,
                text=True,
                timeout=MAX_INSTALL_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise CannotInstall(f"{name} cannot be installed: {problem}") from None
    if done.returncode != 0:
        raise CannotInstall(f"{name} cannot be installed: {done.stderr.strip()[-300:]}")
