"""Conditions: which resource is meant, by what a search finds (R4 http: conditional create, update, delete)."""

from urllib.parse import parse_qsl

from clerkship.fhir.issue import Invalid
from clerkship.fhir.search import find_keys
from clerkship.simulators.fhir.draft import Draft
from clerkship.simulators.fhir.outcome import refusal, refused
from clerkship.simulators.fhir.wire import GENERAL, Pairs
from clerkship.simulators.fhir.writing import known_type

RESULT = frozenset(
    {"_count", "_sort", "_include", "_revinclude", "_summary", "_elements", "_total", "_contained", "_containedType"}
)
"""What says how results are shown; a condition has none to show."""
MOST_CONDITION = 10_000
"""Characters."""


def parse_condition(text: str) -> Pairs:
    """`identifier=x|1`, as a header or an entry has it, with or without what stands before the `?`."""
    if len(text) > MOST_CONDITION:
        raise refusal(400, "too-long", f"a condition may have {MOST_CONDITION} characters")
    return tuple(parse_qsl(text.partition("?")[2] if "?" in text else text, keep_blank_values=True))


def meant(draft: Draft, type: str, pairs: Pairs) -> str | None:
    """The one that is meant; None where there is none. Several are refused: the condition was not selective."""
    known_type(type)
    asked = [pair for pair in draft.address.pairs_in(pairs) if pair[0] not in GENERAL]
    for name, _ in asked:
        if name in RESULT:
            raise refusal(400, "not-supported", f"`{name}` has no place in a condition")
    if not asked:
        raise refusal(412, "required", f"a condition is needed that says which {type} is meant")
    try:
        found = find_keys(draft, type, asked, base=draft.base)
    except Invalid as wrong:
        raise refused(wrong) from None
    if len(found) > 1:
        raise refusal(412, "multiple-matches", f"{len(found)} {type} resources match, and one is meant")
    return found[0] if found else None
