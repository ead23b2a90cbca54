"""A phone tree that has no mistakes. The format of its nodes is in `nodes`."""

from typing import Self

from pydantic import ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from clerkship.formats.phone_tree.nodes import UncheckedTree
from clerkship.formats.phone_tree.tree_check import TreeProblem, find_tree_problems


class IvrTree(UncheckedTree):
    """A phone tree."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        problems = find_tree_problems(self)
        if problems:
            raise ValidationError.from_exception_data(self.name, [self._describe(problem) for problem in problems])
        return self

    def _describe(self, problem: TreeProblem) -> InitErrorDetails:
        """Return a mistake with its place, so that each is reported with its own line of the file.

        If the key is not in the file, because it has a default, the place is the node, and the message has the key.
        """
        place, message = problem.place, problem.message
        if problem.node and problem.key and problem.path[0] not in self.nodes[problem.node].model_fields_set:
            place, message = place[:2], f"`{problem.key}`: {message}"
        error = PydanticCustomError("phone_tree", "{problem}", {"problem": message})
        return InitErrorDetails(type=error, loc=place, input=problem.node)
