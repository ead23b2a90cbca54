"""`voicemail_left`: the agent left a message in a mailbox, or left none."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from clerkship.assertions.address_match import matches_address
from clerkship.assertions.narrowing import narrow
from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.formats.phone_tree.nodes import MAILBOX
from clerkship.model.duration import Duration
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected
from clerkship.model.pattern import Regex, has_match
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Check
from clerkship.simulators.voice.assertions.call_match import read_voicemail_content
from clerkship.simulators.voice.call_log import LoggedVoicemail, list_calls, list_voicemails
from clerkship.simulators.voice.names import PHONE_NUMBER
from clerkship.text.spoken_text import Alternatives, SpokenValues, read_spoken

MAX_PATTERNS = 20


def _to_list(written: Any) -> Any:
    return [written] if isinstance(written, str) else written


class VoicemailWasLeft(SelectionAssertion):
    """The agent left a voicemail like this. Only what was said after the beep is in it. Forbidden words must be in none
    of the voicemails in this mailbox, nor before the beep. Numbers and dates count in any spoken form.
    `input_entity_id` selects voicemails to that person, or that mention the record.
    """

    name: ClassVar[str] = "voicemail_left"
    simulator: ClassVar[str | None] = "voice"
    scoped: ClassVar[bool] = True
    mailbox: Annotated[str | None, MAILBOX, Field(description="name of the mailbox; any if not given")] = None
    number: Annotated[Expected | None, PHONE_NUMBER, Field(description="number that was called; any if not given")] = (
        None
    )
    contains: Annotated[
        SpokenValues, Field(description="words, or a list that must all be in one voicemail, after the beep")
    ] = ()
    not_contains: Annotated[
        SpokenValues, Field(description="words, or a list, that must be in none; `diabet` is in `diabetes`")
    ] = ()
    matches: Annotated[
        tuple[Regex, ...],
        BeforeValidator(_to_list),
        Field(max_length=MAX_PATTERNS, description="a regex, or a list, on the text after the beep"),
    ] = ()
    callback: Annotated[
        str | None, Field(description="phone number for a call back that must be said, in any spoken form")
    ] = None
    after_beep: Annotated[Flag, Field(description="whether nothing may be said before the beep, where it is lost")] = (
        False
    )
    max_length: Annotated[Duration | None, Field(description="longest time that it takes")] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; any if not given")] = None

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.none and self.not_contains:
            raise ValueError("`not_contains` does not go with `none`: write the words in `contains`")
        if self.callback is not None and sum(each.isdigit() for each in self.callback) < 7:
            raise ValueError(f"`callback` is a phone number, such as +15550100123, not {self.callback!r}")
        return self

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each voicemail in the mailbox."""
        for voicemail in self._list_voicemails(evidence, forbids=self.passes_on_inaction):
            yield Compared(voicemail.describe(), tuple(self._compare(voicemail)))

    def check(self, evidence: Evidence) -> Check:
        """Compare the voicemails, and search all of them for forbidden words."""
        check = super().check(evidence)
        if not self.not_contains:
            return check
        voicemails = list(self._list_voicemails(evidence, forbids=True))
        rows = [_search_forbidden(voicemails, value) for value in self.not_contains]
        leaks = [f"`{row.expected}` was said (#{row.seq}): {row.actual}" for row in rows if not row.passed]
        detail = "; ".join([f"forbidden: {'; '.join(leaks)}", check.detail]) if leaks else check.detail
        score = 0.0 if leaks else check.score
        return Check(check.passed and not leaks, score, detail, (*check.evidence, *rows))

    def _list_voicemails(self, evidence: Evidence, *, forbids: bool) -> Iterable[LoggedVoicemail]:
        selected = [each for each in list_voicemails(evidence, self.sandbox) if self._is_selected(each)]
        return narrow(evidence, selected, read_voicemail_content, forbids=forbids)

    def _is_selected(self, voicemail: LoggedVoicemail) -> bool:
        if self.mailbox not in (None, voicemail.left.mailbox):
            return False
        return self.number is None or matches_address(self.number, [voicemail.to_number])

    def _compare(self, voicemail: LoggedVoicemail) -> Iterator[FieldCheck]:
        left, seq = voicemail.left, voicemail.seq
        text = read_spoken(left.text)
        values = [("contains", value) for value in self.contains]
        if self.callback is not None:
            values.append(("callback", (self.callback,)))
        for path, value in values:
            place = text.find(value)
            lost = read_spoken(left.before_beep).find(value) if place is None else None
            missing = "(said before the beep)" if lost is not None else "(not said)"
            actual = text.excerpt(place) if place is not None else missing
            yield FieldCheck(path=path, expected=value[0], actual=actual, passed=place is not None, seq=seq)
        for pattern in self.matches:
            passed = has_match(pattern, left.text) or has_match(pattern, text.respelled)
            yield FieldCheck(path="matches", expected=pattern, actual=left.text[:200], passed=passed, seq=seq)
        if self.after_beep:
            passed = not left.before_beep.strip() and bool(left.text.strip())
            actual = f"lost: {left.before_beep[:200]}" if left.before_beep.strip() else left.text[:200]
            expected = "everything after the beep"
            yield FieldCheck(path="after_beep", expected=expected, actual=actual, passed=passed, seq=seq)
        if self.max_length is not None:
            limit = self.max_length.total_seconds()
            passed = left.seconds <= limit
            yield FieldCheck(path="length", expected={"lte": limit}, actual=left.seconds, passed=passed, seq=seq)
        yield FieldCheck(
            path="voicemail", expected={"exists": True}, actual=left.text[:200], passed=bool(left.text.strip()), seq=seq
        )

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        """Yield that a call got to no beep, if that is why there is no voicemail."""
        calls = [
            call
            for call in list_calls(evidence, self.sandbox)
            if call.direction == "outbound"
            and (self.number is None or matches_address(self.number, [call.first_number]))
        ]
        early = next((call for call in calls if call.answered_at and call.beep_at is None), None)
        if not compared and early is not None and early.ended_at:
            yield f"the {early.describe()} ended before a beep"

    def describe_selection(self, evidence: Evidence) -> str:
        words = "voicemail" + (f" in {self.mailbox}" if self.mailbox is not None else "")
        if self.number is None:
            return words
        return f"{words} of {self.number if isinstance(self.number, str) else describe_expected(self.number)}"


def _search_forbidden(voicemails: Sequence[LoggedVoicemail], value: Alternatives) -> FieldCheck:
    for voicemail in voicemails:
        for words in (voicemail.left.text, voicemail.left.before_beep):
            text = read_spoken(words)
            place = text.find(value, loose=True)
            if place is not None:
                return FieldCheck(
                    path="not_contains", expected=value[0], actual=text.excerpt(place), passed=False, seq=voicemail.seq
                )
    return FieldCheck(path="not_contains", expected=value[0], actual="(not said)", passed=True)
