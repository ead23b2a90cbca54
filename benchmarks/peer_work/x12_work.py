"""The work of every X12 library: parse, validate and render the same interchange, and report CPU seconds.

It runs in the peers' environments too, so it imports only the standard library. Input on stdin is a JSON object with
`text`, one interchange, `sets`, the number of sets in it, and `rounds`. The best round counts.
"""

import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class X12Library(NamedTuple):
    """What a library does with the text of an interchange. Each function returns how many sets it has seen."""

    parse: Callable[[str], int]
    """Split the text into segments and elements."""
    validate: Callable[[str], int]
    """Parse it and check it against the guide; a set with an error is not counted."""
    prepare: Callable[[str], Any]
    """Read the text, as far as `render` needs it; this is not timed."""
    render: Callable[[Any], int]
    """Write the text of what was read."""


def seconds(work: Callable[[Any], int], given: Any, sets: int, rounds: int) -> float:
    """Return the CPU seconds of the best round, after one that warms up."""
    measured = []
    for _ in range(rounds + 1):
        gc.collect()
        began = time.process_time()
        count = work(given)
        measured.append(time.process_time() - began)
        if count != sets:
            raise SystemExit(f"{work.__name__}: {count} sets instead of {sets}")
    return min(measured[1:])


def report(library: X12Library) -> None:
    """Do the work that stdin asks for, and print the seconds as JSON."""
    asked = json.load(sys.stdin)
    text, sets, rounds = asked["text"], asked["sets"], asked["rounds"]
    taken = {
        "parse": seconds(library.parse, text, sets, rounds),
        "validate": seconds(library.validate, text, sets, rounds),
        "render": seconds(library.render, library.prepare(text), sets, rounds),
    }
    print(json.dumps(taken), flush=True)
