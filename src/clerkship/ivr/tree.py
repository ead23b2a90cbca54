"""A phone tree that has no mistakes. The format of its nodes is in `nodes`."""

from typing import Self

from pydantic import model_validator

from clerkship.ivr.nodes import (
    BranchNode,
    Choice,
    CollectNode,
    EndNode,
    EntryFormat,
    HookNode,
    HoursNode,
    InputNode,
    IvrNode,
    MenuNode,
    NodeName,
    OpeningHours,
    Prompt,
    QueueNode,
    SayNode,
    SpokenNode,
    TransferNode,
    UncheckedTree,
    ValueName,
    VoicemailNode,
    Weekday,
)
from clerkship.ivr.tree_check import find_tree_problems

__all__ = [
    "BranchNode",
    "Choice",
    "CollectNode",
    "EndNode",
    "EntryFormat",
    "HookNode",
    "HoursNode",
    "InputNode",
    "IvrNode",
    "IvrTree",
    "MenuNode",
    "NodeName",
    "OpeningHours",
    "Prompt",
    "QueueNode",
    "SayNode",
    "SpokenNode",
    "TransferNode",
    "ValueName",
    "VoicemailNode",
    "Weekday",
]


class IvrTree(UncheckedTree):
    """A phone tree."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        problems = find_tree_problems(self)
        if problems:
            raise ValueError("; ".join(str(problem) for problem in problems))
        return self
