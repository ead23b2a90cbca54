"""The faults there are, by name. The module of one is imported when a file names it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from clerkship.by_name import load

if TYPE_CHECKING:
    from clerkship.sandbox.faults.contract import Fault

FAULTS: Mapping[str, str] = {
    "drip": "DripFault",
    "drop": "DropFault",
    "duplicate": "DuplicateFault",
    "error": "ErrorFault",
    "expired": "ExpiredFault",
    "latency": "LatencyFault",
    "truncated": "TruncatedFault",
}
"""The class of each, in the module of its name."""


def load_fault(name: str) -> "type[Fault]":
    """Return the class of a fault."""
    return cast("type[Fault]", load(f"{__package__}.{name}:{FAULTS[name]}"))


def load_faults() -> "tuple[type[Fault], ...]":
    """Return the class of every fault."""
    return tuple(map(load_fault, FAULTS))
