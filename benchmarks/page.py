"""Run the benchmarks one after the other, and write their tables into docs/performance.md.

    python -m benchmarks.page [fhir feeds ...]

Without names, all run. Each is a process of its own. What it prints replaces the block between
`<!-- make bench-NAME -->` and `<!-- end -->`, with the date and the commit. The block of a benchmark that fails stays
as it is. The programs beside ours are installed first: that is not part of the time.
"""

import argparse
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import fhir, peers, x12_library
from tests.clients.installs import CannotInstall

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
BENCHMARKS: dict[str, Sequence[str]] = {
    "overhead": (),
    "peers": (),
    "start": (),
    "publish": (),
    "scenarios": ("--picture", "docs/scenarios.svg"),
    "judging": (),
    "load": ("--picture", "docs/load.svg"),
    "slow": (),
    "serve": (),
    "models": (),
    "mcp": (),
    "traces": (),
    "fhir": (),
    "feeds": (),
    "x12": (),
    "messages": (),
    "fax": (),
    "voice": (),
    "portal": (),
    "viewer": (),
    "profiles": (),
}
"""By name of the module: its arguments."""
MACHINE = "machine"
MEASURED = ("src", "benchmarks", "suites", "tests", "pyproject.toml")
"""What a figure depends on."""


class BenchmarkFailed(Exception):
    """A benchmark ended with an error, or printed no table."""


def replace_block(page: str, name: str, content: str) -> str:
    """Return the page with another content of a block. Raises `KeyError` if the page has no such block."""
    block = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(^<!-- end -->$)", re.DOTALL | re.MULTILINE)
    replaced, count = block.subn(lambda match: f"{match[1]}\n{content.strip()}\n\n{match[2]}", page)
    if count != 1:
        raise KeyError(f"the page has {count} blocks `<!-- {name} -->`, and needs one")
    return replaced


def write_block(name: str, content: str) -> None:
    """Replace a block of docs/performance.md."""
    PAGE.write_text(replace_block(PAGE.read_text(encoding="utf-8"), name, content), encoding="utf-8")


def run(command: Sequence[str]) -> str:
    """Run a benchmark and return the tables that it prints. Raises `BenchmarkFailed`."""
    # Without cached bytecode, every start of Python would take twice as long.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise BenchmarkFailed(f"exit code {done.returncode}")
    if "|---|" not in done.stdout:
        raise BenchmarkFailed("it printed no table")
    return done.stdout


def describe_commit() -> str:
    """Return the short hash of the commit, and whether files that count were changed after it."""
    changed = _git("status", "--porcelain", "--", *MEASURED)
    return f"`{_git('rev-parse', '--short', 'HEAD') or 'unknown'}`{' with changes' if changed else ''}"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def describe_machine() -> str:
    """Return the cores, the Python and the load of this machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0]
    return f"{cores} cores ({platform.machine()}), Python {platform.python_version()}, load {load:.1f} at the start."


def install_peers(names: Sequence[str]) -> None:
    """Install the programs that stand beside ours; a benchmark says in its table which it could not install."""
    if "peers" in names:
        for peer in peers.PEERS:
            with suppress(peers.PeerFailed):
                peers.install(peer)
    if "fhir" in names:
        fhir.find_peer()
    if "x12" in names:
        for library in x12_library.PEERS:
            with suppress(CannotInstall):
                library.find_python()


def measure(names: Sequence[str]) -> list[str]:
    """Run benchmarks and write their blocks; print the seconds of each, and return the names of those that failed."""
    commit, failed, began = describe_commit(), [], time.monotonic()
    write_block(MACHINE, describe_machine())
    for name in names:
        print(f"{name} ...", end=" ", flush=True)
        started = time.monotonic()
        try:
            tables = run([sys.executable, "-m", f"benchmarks.{name}", *BENCHMARKS[name]])
        except BenchmarkFailed as problem:
            failed.append(name)
            print(f"failed: {problem}", flush=True)
            continue
        spent = time.monotonic() - started
        stamp = f"`make bench-{name}`, {datetime.now(UTC):%Y-%m-%d}, commit {commit}, {spent:.0f} s."
        write_block(f"make bench-{name}", f"{stamp}\n\n{tables}")
        print(f"{spent:.0f} s", flush=True)
    print(f"all: {time.monotonic() - began:.0f} s", flush=True)
    return failed


def main() -> None:
    """Parse the command line, install what is needed, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    names = parser.parse_args().names or list(BENCHMARKS)
    if unknown := sorted(set(names) - BENCHMARKS.keys()):
        parser.error(f"no benchmark {', '.join(unknown)} (expected: {', '.join(BENCHMARKS)})")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, and one sends it
    started = time.monotonic()
    install_peers(names)
    print(f"other programs installed: {time.monotonic() - started:.0f} s", flush=True)
    if failed := measure(names):
        raise SystemExit(f"failed, and not written: {', '.join(failed)}")


if __name__ == "__main__":
    main()
