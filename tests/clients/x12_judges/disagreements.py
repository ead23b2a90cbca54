"""Broken messages on which the project and a judge disagree, with the reason."""

from typing import Literal, NamedTuple

from tests.clients.x12_judges.judges import JudgeName

RefusedBy = Literal["judge", "clerkship"]


class Disagreement(NamedTuple):
    """Messages that only one side refuses, all for the same reason."""

    judge: JudgeName
    refused_by: RefusedBy
    reason: str
    cases: dict[str, tuple[str, ...]]
    """The flaws and changes of each valid message, by its name."""


DISAGREEMENTS: tuple[Disagreement, ...] = ()
