"""What an agent finds at its MCP endpoint besides the sandboxes."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from clerkship.sandbox.component import PublicDocument


def ignore_answer(answer: Any) -> None:
    """Do nothing with an answer: the default where the run takes it later."""


class McpTask(NamedTuple):
    """The task of a trial, as far as its MCP endpoint needs it."""

    task_item: Any = None
    """What there is to do; None if there is no task."""
    takes_answer: bool = False
    """Whether the agent may finish the task with an answer."""
    besides: tuple[str, ...] = ()
    """Sandboxes that are left out: the conversation that the agent is part of."""
    on_answer: Callable[[Any], None] = ignore_answer
    """Called with the answer."""


class TaskHost(Protocol):
    """The trial that is served."""

    served: McpTask
    answers: list[Any]
    """The answer with which the agent finished, once it has."""

    def finish(self, answer: Any) -> None:
        """Take the answer to the task."""

    def list_documents(self) -> Mapping[str, PublicDocument]:
        """Return the public documents by path; the path begins with the name of a sandbox or domain."""
