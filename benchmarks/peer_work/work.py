"""The same work for everyone: what is asked, what the agent says, how it is timed, and the one line a script reports.

It runs in the peers' environments too, so it imports nothing but the standard library.
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
    """What the timed part took, on the wall and of the processors, and whether its results are on disk."""

    seconds: float
    cpu: float
    persisted: bool


class Stopwatch:
    """Both clocks at once."""

    def __init__(self) -> None:
        gc.collect()
        self.began = time.perf_counter()
        self.cpu = time.process_time()

    def taken(self, *, persisted: bool) -> Taken:
        """What passed since it was made. The processors' clock counts every thread of the process."""
        return Taken(time.perf_counter() - self.began, time.process_time() - self.cpu, persisted)


def in_order(texts: list[str]) -> bool:
    """Whether the wanted words were said, one after the other: the check the conversations are graded by."""
    rest = iter(texts)
    return all(any(word in text for text in rest) for word in WANTED)


def measure(run: Callable[[str, int, Path], Taken]) -> None:
    """A few cases first, because some import half of themselves on the first case; then the timed ones, reported."""
    shape, cases, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    for part in ("warm", "timed"):
        (folder / part).mkdir()
    run(shape, WARM, folder / "warm")
    taken = run(shape, cases, folder / "timed")
    print(json.dumps({**taken._asdict(), "cases": cases}), flush=True)
