"""Measure what a command costs before it does anything: the processor time of each, beside an empty Python.

    python -m benchmarks.start [--repeats 3]

Processor time is the user and system time of the process and its children. The smallest of several is printed: it
varies least. Bytecode is cached, as it is from the second start on, whatever the environment says.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.table import print_table

ROOT = Path(__file__).resolve().parent.parent
CLERKSHIP = (str(Path(sys.executable).with_name("clerkship")),)
TASK = "Sort the inbox"


class Command(NamedTuple):
    """A command line, and the seconds that it is to take at most."""

    name: str
    words: Sequence[str]
    aim: float | None = None


COMMANDS = (
    Command("`python -c pass`", (sys.executable, "-c", "pass")),
    Command("`clerkship --version`", (*CLERKSHIP, "--version"), 0.02),
    Command("`clerkship --help`", (*CLERKSHIP, "--help"), 0.15),
    Command("`clerkship run --help`", (*CLERKSHIP, "run", "--help"), 0.15),
    Command("`clerkship list`, one run", (*CLERKSHIP, "list"), 0.35),
    Command("`clerkship show`, one task", (*CLERKSHIP, "show"), 0.35),
    Command("`clerkship validate`, one task on files", (*CLERKSHIP, "validate", "practice"), 0.5),
    Command("`clerkship run`, one task on files", (*CLERKSHIP, "run", "practice", "--agent", "oracle")),
    Command(
        "`clerkship run suites/chart --task ...`",
        (*CLERKSHIP, "run", str(ROOT / "suites" / "chart"), "--task", "find_by_maiden_name", "--agent", "oracle"),
        1.0,
    ),
    Command("`clerkship validate suites/feeds`", (*CLERKSHIP, "validate", str(ROOT / "suites" / "feeds")), 0.8),
)


def measure(commands: Sequence[Command], folder: Path, repeats: int) -> Iterator[tuple[str, ...]]:
    """Run each command in a folder with one task and one run, and yield a row with its smallest time."""
    environment = build_environment(folder)
    run_command((*CLERKSHIP, "new", "task", TASK, "--in", "practice"), folder, environment)
    run_command((*CLERKSHIP, "run", "practice", "--agent", "oracle"), folder, environment)
    for command in commands:
        run_command(command.words, folder, environment)  # bytecode and datasets are cached from here on
        seconds = min(run_command(command.words, folder, environment) for _ in range(repeats))
        yield command.name, f"{seconds:.3f} s", "" if command.aim is None else f"≤ {command.aim:g} s"


def build_environment(folder: Path) -> dict[str, str]:
    """Return the environment of commands that keep their bytecode in a folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return environment | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def run_command(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> float:
    """Run a command in a folder, and return the processor time that it and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} exits with {done.returncode}:\n{done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print_table(("command", "processor time", "aim"), measure(COMMANDS, Path(folder), options.repeats))


if __name__ == "__main__":
    main()
