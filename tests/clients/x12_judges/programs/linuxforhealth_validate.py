"""Validate interchanges with linuxforhealth-x12: reads a JSON list of texts, prints the errors of each.

Runs in an environment of its own, so it imports nothing of the project.
"""

import json
import sys

from linuxforhealth.x12.io import X12ModelReader


def find_errors(text: str) -> list[str]:
    """Return the errors of an interchange. The library raises on the first, with exceptions of many types."""
    try:
        with X12ModelReader(text) as reader:
            models = list(reader.models())
    except Exception as problem:
        return [f"{type(problem).__name__}: {problem}"]
    # A set without SE yields no model and raises nothing.
    return [] if models else ["no transaction set was read"]


json.dump([find_errors(text) for text in json.load(sys.stdin)], sys.stdout)
