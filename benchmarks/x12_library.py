"""Measure parsing, validation and rendering of X12 beside linuxforhealth-x12 and pyx12.

    python -m benchmarks.x12_library [--quick]

One interchange holds all sets, so that what a library prepares once counts once. Each library works in a process of
its own, in turns with ours; the best round of each counts, in CPU seconds. The peers are installed under
.cache/clients, where the tests use them too.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.peers import LIMIT, WORK, PeerFailed, last_line
from benchmarks.table import render_table, times
from tests.clients.installs import CannotInstall
from tests.clients.x12_judges.environments import linuxforhealth_python, pyx12_python
from tests.clients.x12_judges.messages import interchange, valid_message

SETS = 200
TURNS = 2
OPERATIONS = ("parse", "validate", "render")
AIM = 10.0


class X12Peer(NamedTuple):
    """A library beside ours, and the kinds of sets that it knows."""

    title: str
    script: str
    find_python: Callable[[], str]
    kinds: tuple[str, ...]


PEERS = (
    X12Peer("linuxforhealth-x12 0.57.0", "linuxforhealth_x12", linuxforhealth_python, ("270", "271", "276", "277")),
    X12Peer("pyx12 4.0.0", "pyx12", pyx12_python, ("999",)),
)


class Comparison(NamedTuple):
    """One operation on one kind of set: sets per CPU second, ours and theirs."""

    kind: str
    operation: str
    ours: float
    peer: str
    theirs: float | None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times as fast ours is."""
        return None if self.theirs is None else self.ours / self.theirs


def build_batch(kind: str, sets: int) -> str:
    """Return an interchange with so many sets of one kind."""
    isa, gs, st, *body, se, ge, iea = valid_message(kind)
    segments = [isa, gs]
    for number in range(1, sets + 1):
        control = f"{number:04d}"
        segments += [st.replace("*0001", f"*{control}", 1), *body, se.replace("*0001", f"*{control}", 1)]
    return interchange([*segments, ge.replace("GE*1*", f"GE*{sets}*", 1), iea])


def work(python: str, script: str, text: str, sets: int) -> dict[str, float]:
    """Run one script of peer_work, and return the CPU seconds of each operation."""
    asked = json.dumps({"text": text, "sets": sets, "rounds": 1})
    line = [python, str(WORK / f"{script}_work.py")]
    done = subprocess.run(line, input=asked, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise PeerFailed(last_line(done.stderr) or f"exit code {done.returncode}")
    taken: dict[str, float] = json.loads(done.stdout)
    return taken


def compare(peer: X12Peer, kind: str, sets: int, turns: int) -> list[Comparison]:
    """Let both libraries take turns on one kind of set."""
    text = build_batch(kind, sets)
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    note = ""
    for _ in range(turns):
        ours.append(work(sys.executable, "x12_ours", text, sets))
        try:
            theirs.append(work(peer.find_python(), peer.script, text, sets))
        except (CannotInstall, PeerFailed) as problem:
            note = str(problem)
    return [
        Comparison(
            kind,
            operation,
            sets / best(ours, operation),
            peer.title,
            sets / best(theirs, operation) if theirs else None,
            note,
        )
        for operation in OPERATIONS
    ]


def best(taken: Sequence[dict[str, float]], operation: str) -> float:
    """Return the least of several measurements, because noise only adds."""
    return min(seconds[operation] for seconds in taken)


def measure(sets: int = SETS, turns: int = TURNS) -> list[Comparison]:
    """Compare with every peer on every kind that it knows."""
    return [row for peer in PEERS for kind in peer.kinds for row in compare(peer, kind, sets, turns)]


def table(rows: Sequence[Comparison]) -> str:
    """Return the table as Markdown."""
    return render_table(
        ("set", "what", "ours, sets per CPU second", "beside it", "theirs", "ratio", "aim"),
        [
            (
                row.kind,
                row.operation,
                f"{row.ours:,.0f}",
                row.peer,
                f"{row.theirs:,.0f}" if row.theirs is not None else row.note,
                times(row.ratio),
                f"≥ {AIM:.0f}×" if row.operation == "validate" else "",
            )
            for row in rows
        ],
    )


def main() -> None:
    """Parse the command line, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="that it works at all: seconds instead of minutes")
    print(table(measure(20, 1) if parser.parse_args().quick else measure()), flush=True)


if __name__ == "__main__":
    main()
