"""A phone tree that has no mistakes. The format of its nodes is in `nodes`."""

from typing import Self

from pydantic import ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

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
from clerkship.ivr.tree_check import TreeProblem, find_tree_problems

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
            raise ValidationError.from_exception_data(self.name, [self._describe(problem) for problem in problems])
        return self

    def _describe(self, problem: TreeProblem) -> InitErrorDetails:
        """Return a mistake with its place, so that each is reported with its own line of the file."""
        error = PydanticCustomError("phone_tree", "{problem}", {"problem": str(problem)})
        return InitErrorDetails(type=error, loc=self._locate(problem), input=problem.node)

    def _locate(self, problem: TreeProblem) -> tuple[str | int, ...]:
        """Return the path of a mistake; the path of the node if its key is not in the file, but has a default."""
        if not problem.node:
            return problem.path
        node = ("nodes", problem.node)
        is_given = problem.path[:1] and problem.path[0] in self.nodes[problem.node].model_fields_set
        return (*node, *problem.path) if is_given else node
