"""The workload of all harnesses: messages, replies, timing, and the line that a script reports.

It runs in the peers' environments too, so it imports only the standard library.
"""

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

PERSON = ("Hello, can you help me?", "My parcel is late.", "It is 4711.")
AGENT = ("Gladly, how?", "What is its number?", "It comes tomorrow.")
REPLIES = dict(zip(PERSON, AGENT, strict=True))
WANTED = ("late", "number", "tomorrow")
WARM = 10


class Taken(NamedTuple):
    """Wall and CPU seconds of the timed part, and whether the results are on disk."""

    seconds: float
    cpu: float
    persisted: bool


class Stopwatch:
    """Measures wall and CPU time."""

    def __init__(self) -> None:
        gc.collect()
        self.began = time.perf_counter()
        self.cpu = time.process_time()

    def taken(self, *, persisted: bool) -> Taken:
        """Return the time since it was created; CPU time includes all threads of the process."""
        return Taken(time.perf_counter() - self.began, time.process_time() - self.cpu, persisted)


def in_order(texts: list[str]) -> bool:
    """Return whether the expected words occur in order."""
    rest = iter(texts)
    return all(any(word in text for text in rest) for word in WANTED)


def measure(run: Callable[[str, int, Path], Taken]) -> None:
    """Run a few cases to warm up, because some harnesses import modules with the first case; then run and report the
    timed ones.
    """
    shape, cases, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    for part in ("warm", "timed"):
        (folder / part).mkdir()
    run(shape, WARM, folder / "warm")
    taken = run(shape, cases, folder / "timed")
    print(json.dumps({**taken._asdict(), "cases": cases}), flush=True)
