"""`message_thread`: a conversation in one thread had these messages, in this order."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from clerkship.assertions.narrowing import narrow, narrow_events
from clerkship.assertions.occurrence import NotEmpty
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.query import describe_match, select
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Actor, EventMatch, Where
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.messages.assertions.logged import LoggedMessage, list_messages, read_content, read_mailboxes
from clerkship.simulators.messages.assertions.message_match import MessageMatch, describe_conditions

_CONDITIONS = ("channel", "subject", "text", "attachments", "thread", "in_reply_to")


class ThreadStep(MessageMatch):
    """A message, with `from`; or with `event`, something that happened between messages, such as a read of the
    chart.
    """

    sender: Annotated[
        Literal["agent", "contact"] | None,
        Field(alias="from", description="agent, or contact for a message that arrived"),
    ] = None
    event: Annotated[str | None, Field(min_length=1, description="instead of `from`: kind of event")] = None
    where: Where = {}
    sandbox: Annotated[str | None, Field(description="with `event`: sandbox of the event; default: any")] = None
    actor: Annotated[Actor | None, Field(description="with `event`: who caused it; default: any")] = None

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        if (self.sender is None) == (self.event is None):
            raise ValueError("expected `from`, for a message, or `event`")
        names = _CONDITIONS if self.event is not None else ("where", "sandbox", "actor")
        unusable = next((name for name in names if getattr(self, name) not in (None, (), {})), None)
        if unusable is not None:
            needed = "from" if self.event is not None else "event"
            raise ValueError(f"`{unusable}` needs `{needed}`")
        return self

    @cached_property
    def event_match(self) -> EventMatch | None:
        """The condition on events; None for a message."""
        if self.event is None:
            return None
        return EventMatch(event=self.event, where=self.where, sandbox=self.sandbox, actor=self.actor)

    def matches(self, message: LoggedMessage) -> bool:
        return message.is_sent == (self.sender == "agent") and all(
            row.passed for row in self.compare_properties(message)
        )

    @property
    def description(self) -> str:
        """The step in words."""
        if self.event_match is not None:
            return describe_match(self.event_match)
        conditions = describe_conditions(self, _CONDITIONS)
        return f"from {self.sender}" + (f" with {conditions}" if conditions else "")


class ThreadMatch(NamedTuple):
    """The event that matches a step, and what it shows in the evidence."""

    event: Event
    text: str


class MessageThreadInOrder(Assertion):
    """In one thread, messages like these followed each other; others may lie between them. Each step matches a message
    after that of the step before. A step with `event` matches an event of any sandbox, so that the order of messages
    and other actions can be checked: a text arrived, the chart was read, the answer was sent, the visit was booked.
    With `closed`, the thread is closed or open at the end, as expected. `input_entity_id` selects threads and events
    about that record.
    """

    name: ClassVar[str] = "message_thread"
    simulator: ClassVar[str | None] = "messages"
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "steps"
    steps: Annotated[tuple[ThreadStep, ...], NotEmpty, Field(description="in order", json_schema_extra={"minItems": 1})]
    closed: Annotated[
        bool | None, Field(description="whether the thread must be closed at the end, or open; any if not given")
    ] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; any if not given")] = None

    @model_validator(mode="after")
    def _check_steps(self) -> Self:
        if all(step.sender is None for step in self.steps):
            raise ValueError("no step has `from`; use `sequencing` for events alone")
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return all(step.sender == "contact" for step in self.steps)

    def check(self, evidence: Evidence) -> Check:
        """Match the steps in each thread; the thread with the most matches is shown."""
        threads: dict[tuple[str, str], list[LoggedMessage]] = {}
        for message in list_messages(evidence, self.sandbox):
            threads.setdefault((message.event.source, message.header.thread), []).append(message)
        about = narrow(evidence, threads.items(), lambda thread: read_content(*thread[1]))
        threads = dict(about)
        events = [
            list(narrow_events(evidence, select(evidence.events, step.event_match))) if step.event_match else ()
            for step in self.steps
        ]
        mailboxes = evidence.cached(read_mailboxes)
        name, best, is_as_expected = "", list[ThreadMatch](), True
        for key, messages in threads.items():
            is_closed = mailboxes[key[0]].threads[key[1]].is_closed
            matched, agrees = self._match_steps(messages, events), self.closed in (None, is_closed)
            if matched and (len(matched), agrees) > (len(best), is_as_expected and bool(best)):
                name, best, is_as_expected = key[1], matched, agrees
        rows = self._build_rows(best)
        if len(best) < len(self.steps):
            where = f"thread {name}" if best else f"{len(threads)} threads"
            missing = self.steps[len(best)].description
            return Check.of(False, f"step {len(best) + 1}, {missing}, was not found in {where}", *rows)
        if self.closed is not None:
            is_closed = self.closed if is_as_expected else not self.closed
            rows.append(FieldCheck(path="closed", expected=self.closed, actual=is_closed, passed=is_as_expected))
        if not is_as_expected:
            return Check.of(False, f"thread {name} is {'open' if self.closed else 'closed'} at the end", *rows)
        return Check.of(True, f"in thread {name}: {' → '.join(evidence.place(match.event) for match in best)}", *rows)

    def _build_rows(self, best: Sequence[ThreadMatch]) -> list[FieldCheck]:
        return [
            FieldCheck(
                path=f"step {number + 1}",
                expected=step.description,
                actual=best[number].text if number < len(best) else "(not found)",
                passed=number < len(best),
                seq=best[number].event.seq if number < len(best) else None,
            )
            for number, step in enumerate(self.steps)
        ]

    def _match_steps(self, messages: Sequence[LoggedMessage], events: Sequence[Sequence[Event]]) -> list[ThreadMatch]:
        """Return the matches of the first steps, in order; the earliest of each."""
        matched: list[ThreadMatch] = []
        seq, place = 0, 0
        for step, candidates in zip(self.steps, events, strict=True):
            if step.event_match is not None:
                index = bisect_right(candidates, seq, key=lambda event: event.seq)
                if index == len(candidates):
                    break
                matched.append(ThreadMatch(candidates[index], f"#{candidates[index].seq} {candidates[index].kind}"))
            else:
                while place < len(messages) and not (messages[place].event.seq > seq and step.matches(messages[place])):
                    place += 1
                if place == len(messages):
                    break
                matched.append(ThreadMatch(messages[place].event, messages[place].describe()))
            seq = matched[-1].event.seq
        return matched
