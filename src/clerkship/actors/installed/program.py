"""A command-line program that can be an agent: how it is found, started, and how its answer is read."""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from clerkship.model.errors import InputError
from clerkship.providers.contract import ProviderName
from clerkship.sandbox.mcp_access import McpAddress
from clerkship.settings import get_inherited_environment

MAX_CHECK_SECONDS = 20
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class Launch(NamedTuple):
    """What a program is started with in one trial."""

    folder: Path
    """The private folder of the trial, which is its working folder."""
    mcp: McpAddress | None
    """None if the sandboxes are not offered as tools."""
    base_url: str
    """The address of its models; empty if it uses its own login and address."""
    api_key: str


class CodingProgram(Protocol):
    """A command-line program that works on a task by itself."""

    name: str
    """The kind of agent."""
    title: str
    command: str
    package: str
    """The npm package that has it."""
    oldest: tuple[int, int, int]
    """The oldest version that has the options that are used."""
    provider: ProviderName
    """The provider whose API it calls."""
    login: str
    """The command line with which a user logs in."""
    login_check: Sequence[str]
    """The arguments with which it exits with 0 if the user is logged in."""

    def prepare(self, launch: Launch) -> tuple[list[str], dict[str, str]]:
        """Write its configuration into the folder; return its arguments and environment variables."""

    def read_answer(self, output: bytes, folder: Path) -> str:
        """Return its last message, given what it printed. Raise AgentError if there is none."""

    def read_usage(self, output: bytes) -> Mapping[str, Any]:
        """Return what it reports of its model calls; empty if it reports nothing."""


class InstalledProgram(NamedTuple):
    """A program that was found on this machine."""

    path: str
    version: tuple[int, int, int]

    @property
    def version_text(self) -> str:
        """The version as it is written."""
        return ".".join(map(str, self.version))


def find_program(program: CodingProgram) -> InstalledProgram:
    """Return the program in the version that is installed. Raise InputError if it is missing, broken or too old."""
    install = f"npm install -g {program.package}"
    path = shutil.which(program.command)
    if path is None:
        message = f"agent {program.name}: no program `{program.command}` on the PATH"
        raise InputError.of(message, hint=f"install it with `{install}`, or add its folder to the PATH")
    printed = _run(path, "--version")
    match = _VERSION.search(printed.stdout) if printed is not None and printed.returncode == 0 else None
    if match is None:
        message = f"agent {program.name}: `{path} --version` prints no version"
        raise InputError.of(message, hint=f"is it {program.title}? Install that with `{install}`")
    version = (int(match[1]), int(match[2]), int(match[3]))
    found = InstalledProgram(path, version)
    if version < program.oldest:
        oldest = ".".join(map(str, program.oldest))
        message = f"agent {program.name}: {program.title} {found.version_text} is too old; it must be {oldest} or newer"
        raise InputError.of(message, hint=f"update it with `{install}@latest`")
    return found


def is_logged_in(program: CodingProgram, path: str) -> bool:
    """Return whether the user of this machine has logged in to the program."""
    checked = _run(path, *program.login_check)
    return checked is not None and checked.returncode == 0


def _run(*words: str) -> "subprocess.CompletedProcess[str] | None":
    """Run a program without input; return None if it does not start or does not end in time."""
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=MAX_CHECK_SECONDS,
            check=False,
            env=get_inherited_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
