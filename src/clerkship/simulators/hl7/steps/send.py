"""`hl7.send`: deliver a message to the agent."""

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.formats.hl7.message import BadMessage, Hl7Message, build_field, build_segment, parse_message
from clerkship.formats.hl7.validation import validate_message
from clerkship.model.errors import InputError
from clerkship.model.frozen import Flag, Whole
from clerkship.model.located_error import build_located_error
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.hl7.events import ARRIVED_EVENTS
from clerkship.simulators.hl7.intake import MAX_FLAWS
from clerkship.simulators.hl7.state import Hl7State

PLACEHOLDER_TIME = "20000101000000"
PLACEHOLDER_ID = "0"
"""Placeholders for a time and a control id that are only generated when the step runs."""


class Hl7Send(Step):
    """Put a message into the agent's inbox, and deliver it if the agent listens. Give a whole `message`, a `template`
    beside the task, or a `type` and `segments`, for which the MSH is built. The message must be valid unless
    `invalid` is true. Escape values that may contain delimiters: `{{ patient.family | hl7 }}`.
    """

    name: ClassVar[str] = "hl7.send"
    simulator: ClassVar[str | None] = "hl7"
    text_files: ClassVar[Mapping[str, str]] = {"template": "message"}
    message: Annotated[
        str | None,
        Field(description="a message in ER7, from MSH on; an empty MSH-7 or MSH-10 is filled in when it is sent"),
    ] = None
    template: Annotated[str | None, Field(description="a file with such a message, beside the task's file")] = None
    type: Annotated[str | None, Field(description="MSH-9, such as ORU^R01; with `segments`")] = None
    segments: Annotated[str | None, Field(description="the segments after the MSH, one per line")] = None
    control_id: Annotated[
        str | None, Field(min_length=1, max_length=199, description="MSH-10; generated if not given")
    ] = None
    version: Annotated[str | None, Field(description="MSH-12, with `segments`; 2.5.1 if not given")] = None
    times: Annotated[Whole, Field(ge=1, le=100, description="how often the same message is delivered")] = 1
    invalid: Annotated[Flag, Field(description="whether the message may be invalid")] = False
    sandbox: Annotated[str | None, Field(description="which engine; the only one if not given")] = None

    @model_validator(mode="after")
    def _check_sources(self) -> Self:
        is_complete = self.message is not None or self.template is not None
        if is_complete == (self.segments is not None):
            raise ValueError("expected `message`, `template`, or `type` with `segments`")
        if (self.type is None) != (self.segments is None):
            raise ValueError("`type` and `segments` go together")
        if self.version is not None and is_complete:
            raise ValueError("`version` goes with `segments`; a whole message states it in MSH-12")
        if self.message is not None or self.segments is not None:
            self._check_message(self._source_field)
        return self

    @property
    def _source_field(self) -> str:
        return "segments" if self.segments is not None else "template" if self.template is not None else "message"

    def _check_message(self, source: str) -> None:
        try:
            message = self._build_message("LAB", "CLERKSHIP", PLACEHOLDER_TIME, PLACEHOLDER_ID)
        except BadMessage as bad:
            raise build_located_error([((source,), f"not an HL7 v2 message: {bad}")]) from None
        if message.type not in ARRIVED_EVENTS:
            problem = f"unsupported message type {message.type or '(none)'} (expected: {', '.join(ARRIVED_EVENTS)})"
            raise build_located_error([((source if self.type is None else "type",), problem)])
        flaws = [] if self.invalid else validate_message(message)[:MAX_FLAWS]
        if flaws:
            hint = "" if len(flaws) > 1 else "; set `invalid: true` to send it anyway"
            raise build_located_error(((source,), f"{flaw.text}{hint}") for flaw in flaws)

    def run(self, host: StepHost) -> None:
        state, action = host.state(Hl7State, self.sandbox)
        config = state.config
        message = self._build_message(
            config.application, config.facility, format_timestamp(action.now, config.zone), action.ids.new("msg")
        )
        for _ in range(self.times):
            state.deliver(action, message)

    def _build_message(self, application: str, facility: str, time: str, id: str) -> Hl7Message:
        if self.segments is not None:
            return self._build_from_segments(application, facility, time, self.control_id or id)
        if self.message is None:
            raise InputError.of(f"{self.template} was not read", hint="a template is read with the file of its task")
        message = parse_message(self.message)
        header = message.header
        header = header if header.raw(7) else header.with_field(7, time)
        if self.control_id is not None or not header.raw(10):
            header = header.with_field(10, build_field(self.control_id or id, delimiters=header.delimiters))
        return message if header is message.header else message.with_segment(0, header)

    def _build_from_segments(self, application: str, facility: str, time: str, id: str) -> Hl7Message:
        values = {3: application, 4: facility, 7: time, 9: self.type or "", 10: build_field(id), 11: "P"}
        values[12] = self.version or "2.5.1"
        text = self.segments or ""
        if not text.isascii():
            values[18] = "UNICODE UTF-8"
        return parse_message(f"{build_segment('MSH', values).render()}\r{text}")


def format_timestamp(at: datetime, zone: int | None) -> str:
    """Format a time for HL7 with its UTC offset, given in minutes."""
    return at.astimezone(timezone(timedelta(minutes=zone or 0))).strftime("%Y%m%d%H%M%S%z")
