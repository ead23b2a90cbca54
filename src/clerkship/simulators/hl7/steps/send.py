"""`hl7.send`: a message comes for the agent."""

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.hl7.message import BadMessage, Hl7Message, build_field, build_segment, parse_message
from clerkship.hl7.validation import validate_message
from clerkship.model.errors import InputError
from clerkship.model.frozen import Flag, Whole
from clerkship.model.located_error import build_located_error
from clerkship.simulators.hl7.events import ARRIVED
from clerkship.simulators.hl7.intake import MAX_FLAWS
from clerkship.simulators.hl7.state import Hl7State
from clerkship.steps.contract import Step, StepHost

ANY_TIME = "20000101000000"
ANY_ID = "0"
"""What stands in for a time and a control id that are made when the step runs, while it is checked before."""


class Send(Step):
    """Puts a message in the agent's inbox, and has it delivered to an agent that listens: a whole `message`, one from a
    `template` beside the task, or a `type` and `segments`, for which the MSH is made. It must be valid, unless
    `invalid` says that a bad one is meant. What may have a delimiter in it is escaped: `{{ patient.family | hl7 }}`."""

    name: ClassVar[str] = "hl7.send"
    simulator: ClassVar[str | None] = "hl7"
    beside: ClassVar[Mapping[str, str]] = {"template": "message"}
    message: Annotated[
        str | None,
        Field(description="a message in ER7, from MSH on; an empty MSH-7 or MSH-10 is filled in when it is sent"),
    ] = None
    template: Annotated[str | None, Field(description="a file with such a message, beside the task's own")] = None
    type: Annotated[str | None, Field(description="MSH-9, such as ORU^R01; with `segments`")] = None
    segments: Annotated[str | None, Field(description="what comes after the MSH, one segment a line")] = None
    control_id: Annotated[
        str | None, Field(min_length=1, max_length=199, description="MSH-10; made up if there is none")
    ] = None
    version: Annotated[str | None, Field(description="MSH-12, with `segments`; 2.5.1 if not given")] = None
    times: Annotated[Whole, Field(ge=1, le=100, description="how often the same message comes")] = 1
    invalid: Annotated[Flag, Field(description="a message with flaws is meant")] = False
    sandbox: Annotated[str | None, Field(description="which engine; the only one if not given")] = None

    @model_validator(mode="after")
    def _is_a_message(self) -> Self:
        whole = self.message is not None or self.template is not None
        if whole == (self.segments is not None):
            raise ValueError("expected `message`, `template`, or `type` with `segments`")
        if (self.type is None) != (self.segments is None):
            raise ValueError("`type` and `segments` go together")
        if self.version is not None and whole:
            raise ValueError("`version` goes with `segments`; a whole message says it in MSH-12")
        if self.message is not None or self.segments is not None:
            self._check(self._place)
        return self

    @property
    def _place(self) -> str:
        """Where in the file it is written."""
        return "segments" if self.segments is not None else "template" if self.template is not None else "message"

    def _check(self, place: str) -> None:
        try:
            message = self._filled("LAB", "CLERKSHIP", ANY_TIME, ANY_ID)
        except BadMessage as bad:
            raise build_located_error([((place,), f"this is no HL7 v2 message: {bad}")]) from None
        if message.type not in ARRIVED:
            said = f"messages of type {message.type or '(none)'} are not sent; {', '.join(ARRIVED)} are"
            raise build_located_error([((place if self.type is None else "type",), said)])
        flaws = [] if self.invalid else validate_message(message)[:MAX_FLAWS]
        if flaws:
            hint = "" if len(flaws) > 1 else "; `invalid: true` sends it all the same"
            raise build_located_error(((place,), f"{flaw.text}{hint}") for flaw in flaws)

    def run(self, stage: StepHost) -> None:
        """Do it."""
        state, act = stage.state(Hl7State, self.sandbox)
        own = state.settings
        message = self._filled(own.application, own.facility, timestamp(act.now, own.zone), act.ids.new("msg"))
        for _ in range(self.times):
            state.deliver(act, message)

    def _filled(self, application: str, facility: str, time: str, id: str) -> Hl7Message:
        """The message with all that is made for it."""
        if self.segments is not None:
            return self._made(application, facility, time, self.control_id or id)
        if self.message is None:
            raise InputError.of(f"{self.template} was not read", hint="a template is read with the file of its task")
        message = parse_message(self.message)
        head = message.header
        head = head if head.raw(7) else head.with_field(7, time)
        if self.control_id is not None or not head.raw(10):
            head = head.with_field(10, build_field(self.control_id or id, delimiters=head.delimiters))
        return message if head is message.header else message.with_segment(0, head)

    def _made(self, application: str, facility: str, time: str, id: str) -> Hl7Message:
        values = {3: application, 4: facility, 7: time, 9: self.type or "", 10: build_field(id), 11: "P"}
        values[12] = self.version or "2.5.1"
        text = self.segments or ""
        if not text.isascii():
            values[18] = "UNICODE UTF-8"
        return parse_message(f"{build_segment('MSH', values).render()}\r{text}")


def timestamp(at: datetime, zone: int | None) -> str:
    """As HL7 writes a time, with its zone: so many minutes ahead of UTC."""
    return at.astimezone(timezone(timedelta(minutes=zone or 0))).strftime("%Y%m%d%H%M%S%z")
