"""`voice_transcript`: what was said in a call, and what was not."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from clerkship.assertions.field_rows import share_passed
from clerkship.assertions.judged import JudgedAssertion
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag, Whole
from clerkship.model.pattern import Regex, has_match
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.voice.assertions.call_match import CallMatch
from clerkship.simulators.voice.assertions.transcript_search import (
    Hit,
    Passage,
    SpeakerChoice,
    explain_missing,
    find_value,
    is_by,
    list_passages,
)
from clerkship.simulators.voice.records import PhoneCall
from clerkship.text.spoken_text import Alternatives, SpokenValues

MAX_PATTERNS = 20
_SPEAKERS = {"any": "one of the two sides", "far_end": "the other side", "agent": "the agent"}


def _to_list(written: Any) -> Any:
    return [written] if isinstance(written, str) else written


class VoiceTranscript(Assertion, CallMatch):
    """In one call, a speaker said all of these; and in no such call one of the forbidden values. What was cut before it
    was said does not count, nor do the agent's words that the far end could not hear; forbidden ones count even then.
    Case and punctuation do not matter, and numbers and dates count in any form: `412`, `4 1 2`, `four one two`.
    `input_entity_id` selects calls with that person, or in which the record is identified.
    """

    name: ClassVar[str] = "voice_transcript"
    simulator: ClassVar[str | None] = "voice"
    scoped: ClassVar[bool] = True
    speaker: Annotated[SpeakerChoice, Field(description="who said it; `far_end` is the other side")] = "any"
    contains: Annotated[
        SpokenValues,
        Field(
            description="words, or a list that must all be said in one call, as whole words; a list in the list has "
            "wordings of one value; a date such as 1961-03-14 is found in any notation"
        ),
    ] = ()
    not_contains: Annotated[
        SpokenValues,
        Field(description="words, or a list, that must not be said in any such call; `diabet` is in `diabetes`"),
    ] = ()
    matches: Annotated[
        tuple[Regex, ...],
        BeforeValidator(_to_list),
        Field(max_length=MAX_PATTERNS, description="a regex, or a list, on what is said without the other between"),
    ] = ()
    in_order: Annotated[Flag, Field(description="whether `contains` must be said in this order")] = False
    min_turns: Annotated[Whole | None, Field(ge=1, description="how often the speaker must speak in the call")] = None
    max_turns: Annotated[Whole | None, Field(ge=0, description="how often the speaker may speak in the call")] = None
    judge: Annotated[
        Flag, Field(description="whether a model decides on other wordings, of `contains` and `not_contains`")
    ] = False

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if not self._asks_for_something and not self.not_contains:
            raise ValueError("expected `contains`, `not_contains`, `matches`, `min_turns` or `max_turns`")
        if self.in_order and len(self.contains) < 2:
            raise ValueError("`in_order` needs several values in `contains`")
        if self.judge and not self.contains and not self.not_contains:
            raise ValueError("`judge` needs `contains` or `not_contains`")
        return self

    @property
    def _asks_for_something(self) -> bool:
        return bool(self.contains or self.matches) or self.min_turns is not None or self.max_turns is not None

    @property
    def asks_model(self) -> bool:
        return self.judge

    def explain_unscoped(self, record_type: str | None = None) -> str:
        """Return that a model reads everything, if it asks one."""
        return "with `judge`, a model reads the whole trial" if self.judge else ""

    def without_model(self) -> Assertion | None:
        """Return the exact part, whose pass decides if nothing is forbidden."""
        if not self.judge:
            return self
        return None if self.not_contains else self.model_copy(update={"judge": False})

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return not self._asks_for_something

    def check(self, evidence: Evidence) -> Check:
        """Search for forbidden words in every call, then for a call in which everything expected was said."""
        calls = self.list_selected(evidence)
        watched = self.list_selected(evidence, forbids=True) if self.not_contains else ()
        forbidden, expected = self._check_forbidden(watched), self._check_expected(calls)
        if self.judge and calls and forbidden.passed and (self.not_contains or not expected.passed):
            return self._ask_judge(evidence, calls, expected)
        if not self.not_contains:
            return expected
        if not self._asks_for_something:
            return forbidden
        return Check(
            passed=forbidden.passed and expected.passed,
            score=expected.score if forbidden.passed else 0.0,
            detail="; ".join(each.detail for each in sorted((forbidden, expected), key=lambda each: each.passed)),
            evidence=(*expected.evidence, *forbidden.evidence),
        )

    def _list_passages(self, call: PhoneCall, *, only_heard: bool) -> list[Passage]:
        return list_passages(
            call,
            lambda turn: (
                is_by(turn, self.speaker) and self.is_said_there(call, turn) and (turn.is_heard or not only_heard)
            ),
        )

    def _check_forbidden(self, calls: Sequence[PhoneCall]) -> Check:
        rows = []
        for value in self.not_contains:
            hits = (find_value(self._list_passages(call, only_heard=False), value, loose=True) for call in calls)
            hit = next((each for each in hits if each is not None), None)
            actual, seq = ("(not said)", None) if hit is None else (hit.describe(), hit.turn.seq)
            rows.append(FieldCheck(path="not_contains", expected=value[0], actual=actual, passed=hit is None, seq=seq))
        forbidden = "; ".join(f"`{row.expected}` was said (#{row.seq}): {row.actual}" for row in rows if not row.passed)
        detail = f"forbidden: {forbidden}" if forbidden else f"nothing forbidden was said in {_count_calls(len(calls))}"
        return Check.of(not forbidden, detail, *rows)

    def _check_expected(self, calls: Sequence[PhoneCall]) -> Check:
        if not calls:
            row = FieldCheck(path="calls", expected={"gte": 1}, actual=0, passed=False)
            return Check.of(False, f"there was no call{self.describe_calls()}", row)
        compared = [(call, self._compare(call)) for call in calls]
        best, rows = max(compared, key=lambda pair: share_passed(pair[1]))
        missing = [f"{row.path} {row.expected!r} {row.actual}" for row in rows if not row.passed]
        if not missing:
            return Check.of_fields(rows, f"said in the {best.describe()}")
        nearest = f"; it is the nearest of {len(calls)} calls" if len(calls) > 1 else ""
        return Check.of_fields(rows, f"not in the {best.describe()}: {', '.join(missing)}{nearest}")

    def _compare(self, call: PhoneCall) -> list[FieldCheck]:
        passages = self._list_passages(call, only_heard=True)
        rows: list[FieldCheck] = []
        last: Hit | None = None
        for value in self.contains:
            hit = find_value(passages, value, after=last if self.in_order else None)
            rows.append(self._build_row(call, passages, value, hit))
            last = hit or last
        rows += [_match_pattern(call, passages, each) for each in self.matches]
        count = sum(len(passage.turns) for passage in passages)
        limits = [("min_turns", "gte", self.min_turns), ("max_turns", "lte", self.max_turns)]
        for path, matcher, limit in limits:
            if limit is not None:
                passed = count >= limit if matcher == "gte" else count <= limit
                rows.append(FieldCheck(path=path, expected={matcher: limit}, actual=count, passed=passed, seq=call.seq))
        return rows

    def _build_row(
        self, call: PhoneCall, passages: Sequence[Passage], value: Alternatives, hit: Hit | None
    ) -> FieldCheck:
        if hit is not None:
            return FieldCheck(path="contains", expected=value[0], actual=hit.describe(), passed=True, seq=hit.turn.seq)
        early = find_value(passages, value) if self.in_order else None
        actual = explain_missing(call, value, self.speaker)
        seq = call.seq
        if early is not None:
            actual, seq = f"(said out of order, #{early.turn.seq})", early.turn.seq
        return FieldCheck(path="contains", expected=value[0], actual=actual, passed=False, seq=seq)

    def _ask_judge(self, evidence: Evidence, calls: Sequence[PhoneCall], exact: Check) -> Check:
        """Let a model decide whether other words say the same; patterns and numbers of turns stay exact."""
        strict = [row for row in exact.evidence if row.path not in ("contains", "calls") and not row.passed]
        if strict:
            return exact
        statement = self._build_statement()
        if any(turn.is_cut for call in calls for turn in call.turns):
            statement += " Of a turn that was cut (`voice.speech.cut` in the ledger), only what was heard was said."
        judged = JudgedAssertion(statement=statement).check(evidence)
        return judged._replace(evidence=(*exact.evidence, *judged.evidence))

    def _build_statement(self) -> str:
        who, where = _SPEAKERS.get(self.speaker, f"the {self.speaker}"), self.describe_calls()
        sentences = []
        if self.contains:
            order = " in this order" if self.in_order else ""
            sentences.append(
                f"In one phone call{where}, {who} said each of these{order}, in these or in other words: "
                f"{_quote(self.contains)}."
            )
        if self.not_contains:
            sentences.append(
                f"In no phone call{where} was one of these said by {who}, in these or in other words: "
                f"{_quote(self.not_contains)}."
            )
        return " ".join(sentences)


def _quote(values: Sequence[Alternatives]) -> str:
    return "; ".join(" or ".join(f'"{wording}"' for wording in value) for value in values)


def _match_pattern(call: PhoneCall, passages: Sequence[Passage], pattern: str) -> FieldCheck:
    for passage in passages:
        text = " ".join(turn.heard for turn in passage.turns)
        if has_match(pattern, text) or has_match(pattern, passage.text.respelled):
            turn = passage.turns[0]
            actual = f"{turn.speaker}: {passage.text.excerpt((0, len(passage.text.plain)))}"
            return FieldCheck(path="matches", expected=pattern, actual=actual, passed=True, seq=turn.seq)
    return FieldCheck(path="matches", expected=pattern, actual="(no match)", passed=False, seq=call.seq)


def _count_calls(count: int) -> str:
    return f"{count} call{'s' if count != 1 else ''}"
