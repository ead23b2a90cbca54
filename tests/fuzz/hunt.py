"""The hunt itself: mutate, run, keep what reaches further, note what breaks."""

import time
from dataclasses import dataclass, field
from random import Random

from tests.fuzz.mutation import mutated
from tests.fuzz.reach import Arc, Reach
from tests.fuzz.targets import Target

TRACED = 4
"""One input in so many is watched for what it reaches, which takes ten times as long; all are for what they break."""
SLOW = 2.0
"""Seconds that no input may take, traced as it is."""


@dataclass
class Crash:
    """An input that breaks something, made as small as it would get."""

    data: bytes
    why: str


@dataclass
class Hunt:
    """What was done, and what it brought."""

    runs: int = 0
    arcs: set[Arc] = field(default_factory=set)
    seeded: int = 0
    """Steps that the seeds alone reach."""
    corpus: list[bytes] = field(default_factory=list)
    crashes: dict[str, Crash] = field(default_factory=dict)


def hunt(target: Target, *, seed: int, seconds: float, runs: int = 10**9) -> Hunt:
    """So many runs or seconds, whichever is less. The same seed and runs bring the same."""
    reach, rng, found = Reach(target.run, target.watched), Random(seed), Hunt()
    deadline = time.monotonic() + seconds
    for data in target.seeds:
        _try(reach, data, found)
        found.corpus.append(data)
    found.seeded = len(found.arcs)
    while found.runs < runs and time.monotonic() < deadline:
        recent = found.corpus[-20:] if rng.random() < 0.5 else found.corpus
        data = mutated(rng.choice(recent), found.corpus, rng)
        if _try(reach, data, found, traced=found.runs % TRACED == 0):
            found.corpus.append(data)
    return found


def _try(reach: Reach, data: bytes, found: Hunt, *, traced: bool = True) -> bool:
    """Whether it reached anything new."""
    started = time.monotonic()
    arcs, crash = reach.of(data) if traced else (set(), reach.breaks(data))
    found.runs += 1
    if crash is None and time.monotonic() - started > SLOW:
        crash = TimeoutError(f"it took more than {SLOW} seconds")
    if crash is not None and (why := _why(crash)) not in found.crashes:
        found.crashes[why] = Crash(_smaller(reach, data, why), f"{why}: {str(crash)[:300]}")
    new = not arcs <= found.arcs
    found.arcs |= arcs
    return new


def _why(crash: BaseException) -> str:
    """What it is and where it was raised: the same for inputs that break the same thing."""
    trace, where = crash.__traceback__, ""
    while trace is not None:
        where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(crash).__name__} at {where}"


def _smaller(reach: Reach, data: bytes, why: str) -> bytes:
    """Parts taken away as long as it breaks in the same way."""
    size = len(data) // 2
    while size:
        at = 0
        while at < len(data):
            less = data[:at] + data[at + size :]
            crash = reach.breaks(less)
            if crash is not None and _why(crash) == why:
                data = less
            else:
                at += size
        size //= 2
    return data
