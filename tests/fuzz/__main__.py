"""python -m tests.fuzz [--target NAME] [--seconds 60] [--seed 1]"""

import argparse
import sys

from tests.fuzz.hunt import hunt
from tests.fuzz.targets import TARGETS


def main() -> None:
    """Hunt, and say what was found; ends with 1 if anything broke."""
    reader = argparse.ArgumentParser(prog="python -m tests.fuzz")
    reader.add_argument("--target", choices=TARGETS)
    reader.add_argument("--seconds", type=float, default=60, help="for all targets together")
    reader.add_argument("--seed", type=int, default=1)
    told = reader.parse_args()
    names = [told.target] if told.target else list(TARGETS)
    broken = False
    for name in names:
        found = hunt(TARGETS[name], seed=told.seed, seconds=told.seconds / len(names))
        new = len(found.arcs) - found.seeded
        print(f"{name}: {found.runs:,} runs, {found.seeded} arcs from seeds, {new} new, {len(found.crashes)} crashes")
        for crash in found.crashes.values():
            broken = True
            print(f"  {crash.why}\n  {crash.data!r}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
