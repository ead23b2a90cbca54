"""Which calls a criterion is about: their number, direction and place in the run."""

from typing import Annotated

from pydantic import Field

from clerkship.assertions.address_match import matches_address
from clerkship.assertions.narrowing import ItemContent, narrow
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Frozen, Whole
from clerkship.model.matcher import describe_expected
from clerkship.model.scenario import Expected
from clerkship.simulators.voice.call_log import LoggedVoicemail, group_keys, group_passages, list_calls
from clerkship.simulators.voice.names import PHONE_NUMBER
from clerkship.simulators.voice.records import CallTurn, Direction, PhoneCall
from clerkship.text.spoken_text import read_spoken


class CallMatch(Frozen):
    """Which calls are meant."""

    number: Annotated[
        Expected | None,
        PHONE_NUMBER,
        Field(description="number of the other side, also after a transfer; a list of which one, or a matcher"),
    ] = None
    direction: Annotated[Direction | None, Field(description="outbound: the agent called")] = None
    call: Annotated[
        Whole | str | None, Field(description="only this one of such calls: its place from 1, or its id")
    ] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; any if not given")] = None

    def list_selected(self, evidence: Evidence, *, forbids: bool = False) -> list[PhoneCall]:
        """Return the calls that are meant, in order; only those about the record of the criterion, if it has one.

        With `forbids`, those that may be about it.
        """
        selected = (call for call in list_calls(evidence, self.sandbox) if self._is_selected(call))
        calls = list(narrow(evidence, selected, read_call_content, forbids=forbids))
        if isinstance(self.call, int):
            return calls[self.call - 1 : self.call] if self.call > 0 else []
        return [call for call in calls if self.call in (None, call.id)]

    def _is_selected(self, call: PhoneCall) -> bool:
        if self.direction not in (None, call.direction):
            return False
        return self.number is None or matches_address(self.number, list_numbers(call))

    def is_said_there(self, call: PhoneCall, turn: CallTurn) -> bool:
        """Return whether something was said to or by the number: that of the call, or of the phone after a transfer."""
        return self.number is None or matches_address(self.number, (call.first_number, turn.phone))

    def describe_calls(self) -> str:
        """Return the calls that are meant, as a part of a sentence: ` with +15550100300`."""
        parts = []
        if self.direction is not None:
            parts.append("that the agent made" if self.direction == "outbound" else "that the agent got")
        if self.number is not None:
            parts.append(f"with {self.number if isinstance(self.number, str) else describe_expected(self.number)}")
        if self.call is not None:
            parts.append(f"number {self.call}" if isinstance(self.call, int) else self.call)
        return "".join(f" {part}" for part in parts)


def read_call_content(call: PhoneCall) -> ItemContent:
    """Return what tells whom a call is about: its numbers, what was said and keyed, and who was verified."""
    passages = group_passages(call.turns, lambda turn: True)
    spoken = [form for turns in passages for form in _list_forms(" ".join(turn.heard for turn in turns))]
    keyed = [keys.digits.strip("#*") for keys in group_keys(call)]
    verified = [f"member id {each.member_id}" for each in call.verifications]
    return ItemContent([*spoken, *keyed, *verified], list_numbers(call), is_spoken=True)


def read_voicemail_content(voicemail: LoggedVoicemail) -> ItemContent:
    """Return what tells whom a voicemail is about: the number that was called, and what was said."""
    left = voicemail.left
    return ItemContent([*_list_forms(left.text), *_list_forms(left.before_beep)], [voicemail.to_number], is_spoken=True)


def _list_forms(text: str) -> list[str]:
    return read_spoken(text).list_forms() if text.strip() else []


def list_numbers(call: PhoneCall) -> list[str]:
    """Return the number of the other side, and those that the call was transferred to."""
    return [call.first_number, *(far_end.partition("/")[0] for far_end in call.transfers)]
