"""Rasa servers for tests: installed with Python 3.10, trained, served on loopback, and cached in .cache/live."""

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from clerkship.kit.wall import monotonic
from tests.actors.servers import Served
from tests.live.actions import act

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent.parent / ".cache" / "live"
REQUIREMENTS = HERE / "requirements.txt"
APART = Path(tempfile.gettempdir())  # where uv does not find our own project, whose pins are not for Rasa
LIMIT = 900.0  # seconds for an install or a training
READY_WITHIN = 240.0  # a loaded machine takes its time to import TensorFlow
QUIET = {"RASA_TELEMETRY_ENABLED": "false", "PYTHONWARNINGS": "ignore", "TF_CPP_MIN_LOG_LEVEL": "3"}
NO_PYTHON = """
There is no Python 3.10 that starts, which Rasa 3.6 needs: none named, on the path or among pyenv's; uv has none either.
Install it (pyenv install 3.10, or your system's python3.10), or name it: make test-live PYTHON310=/path/to/python3.10
"""


class LiveFailed(Exception):
    """A server could not be started; the message says where to look."""


class Server(NamedTuple):
    """A running Rasa server, and its credentials."""

    url: str
    token: str = ""
    jwt_secret: str = ""


def print_progress(text: str) -> None:
    sys.stderr.write(f"live: {text}\n")
    sys.stderr.flush()


def build_environment() -> dict[str, str]:
    """Return the environment variables without those of this Python."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("CLERKSHIP_", "PYTHON"))}
    ours.pop("VIRTUAL_ENV", None)
    return ours | QUIET


def run(what: str, command: Sequence[str], folder: Path, log: Path) -> None:
    """Run a slow command and print progress every few seconds; its output goes to a file."""
    print_progress(f"{what} (it writes to {log})")
    began = monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=build_environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            while True:
                try:
                    code = process.wait(15)
                    break
                except subprocess.TimeoutExpired:
                    print_progress(f"  … {monotonic() - began:.0f} s")
                    if monotonic() - began > LIMIT:
                        raise LiveFailed(f"{what}: not done after {LIMIT:.0f} s; see {log}") from None
        finally:
            process.kill()
            process.wait(60)
    if code:
        raise LiveFailed(f"{what}: exit code {code}; the end of {log}:\n{tail(log)}")
    print_progress(f"  done in {monotonic() - began:.0f} s")


def tail(log: Path) -> str:
    """Return the last lines of a log."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])


def find_pythons() -> Iterator[str]:
    """Return candidates for Python 3.10: the configured one, those on the path and of pyenv, and what uv finds."""
    named = os.environ.get("PYTHON310")
    if named:
        yield named
        return
    on_path = shutil.which("python3.10")
    if on_path:
        yield on_path
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(root.glob("versions/3.10*/bin/python3.10"), reverse=True))
    yield "3.10"


def is_usable(python: str) -> bool:
    """Return whether it is a Python 3.10 that starts; a pyenv shim may not. The one for uv is not checked."""
    if python == "3.10":
        return True
    try:
        said = subprocess.run([python, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    return said.startswith("Python 3.10.")


def ensure_installed() -> Path:
    """Return the programs folder of an environment with Rasa; create it if the requirements changed."""
    home = CACHE / f"rasa-{digest(REQUIREMENTS)}"
    programs = home / "bin"
    if (home / "complete").exists():
        print_progress(f"Rasa is installed in {home}")
        return programs
    CACHE.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(home, ignore_errors=True)
    uv = shutil.which("uv") or "uv"
    for python in filter(is_usable, find_pythons()):
        try:
            run(f"a Python environment from {python}", [uv, "venv", "-p", python, str(home)], APART, CACHE / "venv.log")
            break
        except LiveFailed as problem:
            print_progress(str(problem))
    else:
        raise LiveFailed(NO_PYTHON)
    install = [uv, "pip", "install", "-p", str(programs / "python"), "-r", str(REQUIREMENTS)]
    run("installing Rasa: a gigabyte", install, APART, CACHE / "install.log")
    (home / "complete").touch()
    return programs


def digest(*paths: Path) -> str:
    """Return a short hash of some files."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:12]


def train(name: str, what: str, make: Callable[[Path], Sequence[str]], *sources: Path) -> Path:
    """Return the folder of a trained bot; train it only if its sources or Rasa changed."""
    home = CACHE / f"{name}-{digest(REQUIREMENTS, *sources)}"
    if (home / "complete").exists():
        print_progress(f"{what} is trained in {home}")
        return home
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    run(f"training {what}", make(home), home, CACHE / f"{name}.log")
    if not list(home.glob("models/*.tar.gz")):
        raise LiveFailed(f"training {what}: no model came of it; see {CACHE / f'{name}.log'}")
    (home / "complete").touch()
    return home


def order_desk(programs: Path) -> Path:
    """Return the trained order desk bot."""
    source = HERE / "bot"

    def make(home: Path) -> Sequence[str]:
        shutil.copytree(source, home, dirs_exist_ok=True)
        return [str(programs / "rasa"), "train", "--quiet"]

    return train("order_desk", "the order desk", make, *sorted(p for p in source.rglob("*") if p.is_file()))


def stock(programs: Path) -> Path:
    """Return the bot of `rasa init`, trained."""
    return train(
        "stock",
        "the stock bot of `rasa init`",
        lambda home: [str(programs / "rasa"), "init", "--no-prompt", "--init-dir", str(home)],
    )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def serve(programs: Path, home: Path, options: Sequence[str] = (), token: str = "") -> Iterator[str]:
    """Run `rasa run` on loopback, with the action server of the order desk, until the context ends."""
    log, port = CACHE / f"{home.name}.served.log", free_port()
    url = f"http://127.0.0.1:{port}"
    with Served(act) as actions, log.open("wb") as out:
        endpoints = CACHE / f"{home.name}.endpoints.yml"
        endpoints.write_text(f"action_endpoint:\n  url: {actions.url}/webhook\n", encoding="utf-8")
        command = [str(programs / "rasa"), "run", "--enable-api", "-i", "127.0.0.1", "-p", str(port)]
        command += ["--endpoints", str(endpoints), *options]
        watchdog = [sys.executable, "-I", "-S", str(HERE / "watchdog.py")]
        print_progress(f"serving {home.name} at {url} (it writes to {log})")
        process = subprocess.Popen(
            [*watchdog, *command],
            cwd=home,
            env=build_environment(),
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for us; it ends when we let go of its standard input
        )
        try:
            _await(process, f"{url}/status", {"token": token} if token else {}, log)
            yield url
        finally:
            print_progress(f"ending {home.name} at {url}")
            process.communicate(timeout=60)


def _await(process: "subprocess.Popen[bytes]", url: str, query: Mapping[str, str], log: Path) -> None:
    """Wait until the model is loaded, or known to be missing."""
    began = monotonic()
    while monotonic() - began < READY_WITHIN:
        try:
            process.wait(0.5)
            raise LiveFailed(f"the server ended by itself; the end of {log}:\n{tail(log)}")
        except subprocess.TimeoutExpired:
            pass
        try:
            if httpx.get(url, params=query, timeout=5, trust_env=False).status_code in (200, 409):
                return print_progress(f"  ready in {monotonic() - began:.0f} s")
        except httpx.TransportError:
            continue
    raise LiveFailed(f"the server was not ready after {READY_WITHIN:.0f} s; the end of {log}:\n{tail(log)}")
