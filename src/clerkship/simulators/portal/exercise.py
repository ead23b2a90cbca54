"""Requests that use every page and every operation of the API, for the conformance suite."""

from pathlib import Path

from clerkship.kit.rng import Ids
from clerkship.sandbox.exercise import load_requests

SEED = "conformance"
"""The seed of the suite, from which the ids follow."""
REFERENCES = {"request1": "R795377752", "request2": "R180065688", "request3": "R809691570"}
"""The payer's numbers of the requests that the exercise files first. They follow from the time, so their place in the
exercise counts."""
_IDS = Ids(SEED)
EXERCISE = load_requests(
    Path(__file__).parent,
    {**REFERENCES, **{f"{prefix}{n}": _IDS.new(prefix) for prefix in ("m", "draft", "doc") for n in (1, 2)}},
)
