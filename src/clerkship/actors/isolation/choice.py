"""Which level of isolation a machine offers, and which a run gets."""

import subprocess
import sys
from functools import cache

from clerkship.actors.isolation.contract import Isolation, Level

LEVELS: tuple[Level, ...] = ("bubblewrap", "landlock")
"""The strongest first."""
_PROBE_SECONDS = 10


@cache
def offered() -> tuple[Level, ...]:
    """Return the levels that work on this machine, the strongest first; `none` is always there."""
    return (*(level for level in LEVELS if _works(level)), "none")


def _works(level: Level) -> bool:
    """Start a program under it: what is installed may be forbidden, by AppArmor or by a container."""
    if sys.platform != "linux":
        return False
    with Isolation(level).command([sys.executable, "-I", "-S", "-c", ""]) as (words, descriptors):
        try:
            probe = subprocess.run(
                words, capture_output=True, timeout=_PROBE_SECONDS, pass_fds=descriptors, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return probe.returncode == 0
