"""Validate interchanges with pyx12: reads a JSON list of texts, prints the errors of each.

Runs in an environment of its own, so it imports nothing of the project.
"""

import functools
import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

from pyx12 import map_if
from pyx12.params import params
from pyx12.x12n_document import x12n_document

PARAMS = params()


def walk_errors(node: Any) -> Iterator[str]:
    """Yield the errors of pyx12's report, which nests them by interchange, group, set, segment and element."""
    if isinstance(node, list):
        for child in node:
            yield from walk_errors(child)
    elif isinstance(node, dict):
        if "err_str" in node:
            yield f"{node['err_cde']}: {node['err_str']}"
        for child in node.values():
            yield from walk_errors(child)


def find_errors(text: str) -> list[str]:
    """Return the errors of an interchange."""
    report = io.StringIO()
    try:
        is_valid = x12n_document(PARAMS, io.StringIO(text), None, None, fd_json=report)
    except Exception as problem:
        return [f"{type(problem).__name__}: {problem}"]
    # Not every error of ISA, GS and ST is in the report, but all are in the result.
    errors = list(walk_errors(json.loads(report.getvalue()))) if report.getvalue() else []
    return [] if is_valid else errors or ["not valid"]


# Otherwise it reads the XML of its maps for every message, which takes twenty times as long as the validation.
map_if.load_map_file = functools.cache(map_if.load_map_file)
logging.disable(logging.CRITICAL)
json.dump([find_errors(text) for text in json.load(sys.stdin)], sys.stdout)
