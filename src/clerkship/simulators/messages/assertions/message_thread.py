"""`message_thread`: a conversation in one thread had these messages, in this order."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clerkship.assertions.contract import Assertion, Check
from clerkship.assertions.occurrence import NotEmpty
from clerkship.events.evidence import Evidence
from clerkship.model.run import FieldCheck
from clerkship.simulators.messages.assertions.logged import LoggedMessage, list_messages
from clerkship.simulators.messages.assertions.message_match import MessageMatch, describe_conditions

_CONDITIONS = ("channel", "subject", "text", "attachments", "thread", "in_reply_to")


class ThreadStep(MessageMatch):
    """One message of the conversation."""

    sender: Annotated[
        Literal["agent", "contact"], Field(alias="from", description="agent, or contact for a message that arrived")
    ]

    def matches(self, message: LoggedMessage) -> bool:
        """Return whether a message is like this."""
        return message.is_sent == (self.sender == "agent") and all(
            row.passed for row in self.compare_properties(message)
        )

    @property
    def description(self) -> str:
        """The step in words."""
        conditions = describe_conditions(self, _CONDITIONS)
        return f"from {self.sender}" + (f" with {conditions}" if conditions else "")


class MessageThreadInOrder(Assertion):
    """In one thread, messages like these followed each other; others may lie between them. Each step matches a message
    after that of the step before.
    """

    name: ClassVar[str] = "message_thread"
    simulator: ClassVar[str | None] = "messages"
    shorthand: ClassVar[str | None] = "steps"
    steps: Annotated[tuple[ThreadStep, ...], NotEmpty, Field(description="in order", json_schema_extra={"minItems": 1})]
    sandbox: Annotated[str | None, Field(description="which sandbox; any if not given")] = None

    def check(self, evidence: Evidence) -> Check:
        """Match the steps in each thread; the thread with the most matches is shown."""
        threads: dict[tuple[str, str], list[LoggedMessage]] = {}
        for message in list_messages(evidence, self.sandbox):
            threads.setdefault((message.event.source, message.header.thread), []).append(message)
        best = max(map(self._match_steps, threads.values()), key=len, default=[])
        rows = [
            FieldCheck(
                path=f"step {number + 1}",
                expected=step.description,
                actual=best[number].describe() if number < len(best) else "(not found)",
                passed=number < len(best),
                seq=best[number].event.seq if number < len(best) else None,
            )
            for number, step in enumerate(self.steps)
        ]
        if len(best) == len(self.steps):
            places = " → ".join(evidence.place(message.event) for message in best)
            return Check.of(True, f"in thread {best[0].header.thread}: {places}", *rows)
        where = f"thread {best[0].header.thread}" if best else f"{len(threads)} threads"
        missing = self.steps[len(best)].description
        return Check.of(False, f"step {len(best) + 1}, {missing}, was not found in {where}", *rows)

    def _match_steps(self, messages: list[LoggedMessage]) -> list[LoggedMessage]:
        """Return the messages that match the first steps, in order; the earliest of each."""
        matched: list[LoggedMessage] = []
        for message in messages:
            if len(matched) < len(self.steps) and self.steps[len(matched)].matches(message):
                matched.append(message)
        return matched
