"""What a criterion expects of a card of CDS Hooks."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args

from pydantic import Field

from clerkship.formats.cds_hooks.drugs import Indicator
from clerkship.model.closed import OneOf
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import matches_expected
from clerkship.model.path import MISSING, lookup
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import compare_given


class ExpectedCard(Frozen):
    """Properties of a card that answered a call."""

    indicator: Annotated[
        Expected | None,
        OneOf(*get_args(Indicator)),
        Field(description="info, warning or critical, or a matcher"),
    ] = None
    summary: Annotated[Expected | None, Field(description="literal or matcher for the summary")] = None
    detail: Annotated[Expected | None, Field(description="literal or matcher for the detail")] = None
    source: Annotated[Expected | None, Field(description="literal or matcher for the label of the source")] = None
    suggestion: Annotated[Expected | None, Field(description="literal or matcher for the label of a suggestion")] = None

    def compare_card(self, card: Mapping[str, Any], seq: int | None, prefix: str = "") -> Iterator[FieldCheck]:
        """Yield a row for each expected property of a card, which is given as JSON data."""
        names = ("indicator", "summary", "detail")
        values = [(f"{prefix}{name}", getattr(self, name), card.get(name, MISSING)) for name in names]
        yield from compare_given([*values, (f"{prefix}source", self.source, lookup(card, "source.label"))], seq)
        if self.suggestion is not None:
            labels = [str(each.get("label")) for each in card.get("suggestions", ())]
            yield compare_any(f"{prefix}suggestion", self.suggestion, labels, seq)


def compare_any(path: str, expected: Expected, actual: list[Any], seq: int | None) -> FieldCheck:
    """Compare several values, of which one must be as expected."""
    passed = any(matches_expected(expected, each) for each in actual)
    return FieldCheck(path=path, expected=expected, actual=actual, passed=passed, seq=seq)
