"""Find and score one generated reply: the base of the `generative_response_…` assertions."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, cast

from pydantic import BeforeValidator, Field

from clerkship.assertions.citation import CitationIndex
from clerkship.assertions.judge_input import build_judge_row
from clerkship.events.event import Event, Utterance, find_conversations, is_by_agent
from clerkship.events.evidence import Evidence
from clerkship.llm.contract import BadAnswer
from clerkship.llm.prompts import Prompt
from clerkship.model.errors import ClerkshipError
from clerkship.model.frozen import Whole
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check, Difference

GENERATIVE_SOURCES = ("EnterpriseSearchPolicy", "ContextualResponseRephraser", "IntentlessPolicy")
"""Components of an agent that generate replies."""
THRESHOLD = 0.5
MAX_LISTED = 8


def _parse_number(value: Any) -> Any:
    """Return a number, or text that is one; refuse anything else."""
    if isinstance(value, bool) or value is None:
        raise ValueError("expected a number between 0 and 1")
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise ValueError("expected a number between 0 and 1") from None
    return value


Threshold = Annotated[
    float,
    BeforeValidator(_parse_number),
    Field(ge=0, le=1, allow_inf_nan=False, description="the lowest score that passes; a number, or text that is one"),
]

SHARED_DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "which replies `utter_source` names",
        "those with that source, and those with that response name",
        "the source alone, which is a component or an action; here both, as the sample of the format needs it",
    ),
    Difference(
        "a reply that addresses the judge, or is announced to it",
        "fails, and no model is asked",
        "the model is asked; here it fails",
    ),
    Difference(
        "a malformed answer of the model",
        "the model is asked again; then the criterion is an error",
        "the assertion fails",
    ),
    Difference(
        "an agent none of whose replies has a source",
        "the criterion is an error, which says what to report",
        "the assertion fails",
    ),
    Difference(
        "a model that cannot be reached", "the criterion is an error", "the run fails; here the criterion is an error"
    ),
)


class NoSourceReported(ClerkshipError):
    """No reply of the agent reports its source, so none can be selected by it."""

    def __init__(self, replies: int) -> None:
        super().__init__(
            f"none of the agent's {replies} replies reports its source, so the generated one cannot be found: "
            "report `utter_source` in the `metadata` of a reply, such as "
            '{"text": "…", "metadata": {"utter_source": "EnterpriseSearchPolicy"}}; or report `utter_name`, and name '
            "that response as `utter_source` of the assertion"
        )


class ReplyRating(NamedTuple):
    """The score of a reply, the reasons, the model and the prompt."""

    score: float
    reasoning: str
    model: str
    prompt: Prompt
    rows: tuple[FieldCheck, ...] = ()


class GenerativeResponse(Assertion):
    """A generated reply that a model scores, from its own turn alone."""

    unscoped_reason: ClassVar[str] = "a model reads the conversation"
    judged: ClassVar[bool] = True
    single_turn: ClassVar[bool] = True
    engines: ClassVar[tuple[Literal["calm", "mantle"], ...]] = ("calm",)
    utter_source: Annotated[
        str | None,
        Field(description=f"what produced the reply, or the reply's name; without it {', '.join(GENERATIVE_SOURCES)}"),
    ] = None
    utter_name: Annotated[str | None, Field(description="name of the reply; without it the first")] = None
    threshold: Threshold = THRESHOLD
    turn: Annotated[Whole | None, Field(ge=0, description="which turn's reply (ours); any if not given")] = None

    def find_rule_failure(self, reply: Event) -> str | None:
        """Return why a reply fails without asking a model; None if a model must decide."""
        return None

    @abstractmethod
    def rate(self, reply: Event, evidence: Evidence) -> ReplyRating | None:
        """Score one reply; None if there is nothing to score, which fails."""

    def check(self, evidence: Evidence) -> Check:
        """Find the reply, have it scored, and compare the score with the threshold."""
        replies = evidence.utterances_by("agent")
        candidates = [event for event in replies if self.turn in (None, evidence.turn_of(event))]
        reply = next(filter(self._matches, candidates), None)
        if reply is None:
            return self._report_missing(replies, candidates, evidence)
        reason = self.find_rule_failure(reply)
        if reason is not None:
            return Check.of(
                False, f"{_describe_reply(reply, evidence)} {reason}", self._row("reply", reply, passed=False)
            )
        addressed = evidence.cached(CitationIndex).addressed
        weakness = addressed.find_weakness(reply.seq, _describe_reply(reply, evidence))
        if weakness is not None:
            return Check.of(False, f"fails by rule: {weakness}", *addressed.to_rows())
        try:
            rating = self.rate(reply, evidence)
        except BadAnswer as bad:
            if evidence.task.compat != "rasa":
                raise
            return Check.of(False, str(bad))
        return self._compare_with_threshold(reply, evidence, rating)

    def _matches(self, event: Event) -> bool:
        utterance = cast(Utterance, event.payload)
        source = _get_source(utterance)
        if self.utter_source is None:
            candidate = source in GENERATIVE_SOURCES
        else:
            candidate = self.utter_source in (source, utterance.utter_name)
        return candidate and self.utter_name in (None, utterance.utter_name)

    def _report_missing(self, replies: Sequence[Event], candidates: Sequence[Event], evidence: Evidence) -> Check:
        """Return a failure that lists the replies; raise NoSourceReported if the agent reports no sources."""
        if replies and not self._reports_sources(replies):
            error = NoSourceReported(len(replies))
            if evidence.is_rasa_compatible:
                return Check.of(False, str(error))
            raise error
        return Check.of(
            False, f"no reply of the agent {self._describe_expected()}; {_list_replies(candidates, evidence)}"
        )

    def _reports_sources(self, events: Sequence[Event]) -> bool:
        """Return whether the agent reports sources; or names, if `utter_source` is the name of a response."""
        replies = [cast(Utterance, event.payload) for event in events]
        if any(_get_source(reply) is not None for reply in replies):
            return True
        by_name = self.utter_source is not None and self.utter_source.startswith("utter_")
        return by_name and any(reply.utter_name is not None for reply in replies)

    def _describe_expected(self) -> str:
        source = f"comes from {self.utter_source or ' or '.join(GENERATIVE_SOURCES)}"
        named = f" and is named {self.utter_name}" if self.utter_name is not None else ""
        return f"{source}{named}" + (f" in turn {self.turn}" if self.turn is not None else "")

    def _compare_with_threshold(self, reply: Event, evidence: Evidence, rating: ReplyRating | None) -> Check:
        place = _describe_reply(reply, evidence)
        if rating is None:
            return Check.of(False, f"{place} has nothing to score", self._row("reply", reply, passed=False))
        passed = rating.score >= self.threshold
        score = FieldCheck(
            path="score",
            expected={"gte": self.threshold},
            actual=round(rating.score, 4),
            passed=passed,
            seq=reply.seq,
        )
        verdict = f"{place} scores {rating.score:.2f} (expected: at least {self.threshold:g})"
        judge = build_judge_row(evidence, rating.model, rating.prompt)
        return Check.of(passed, f"{verdict}: {rating.reasoning}", score, *rating.rows, judge)

    def _row(self, path: str, reply: Event, *, passed: bool) -> FieldCheck:
        text = cast(Utterance, reply.payload).text
        return FieldCheck(path=path, expected={"exists": True}, actual=text[:2000], passed=passed, seq=reply.seq)


def _describe_reply(reply: Event, evidence: Evidence) -> str:
    return f"the reply in turn {evidence.turn_of(reply)} (#{reply.seq})"


def find_previous_message(reply: Event, evidence: Evidence) -> str | None:
    """Return the last message to the agent before a reply, in the same conversation."""
    texts = [
        cast(Utterance, event.payload).text
        for event in evidence.utterances
        if not is_by_agent(event)
        and find_conversations(event)[0] in find_conversations(reply)
        and (event.at, event.seq) < (reply.at, reply.seq)
    ]
    return texts[-1] if texts else None


def _get_source(utterance: Utterance) -> str | None:
    source = (utterance.metadata or {}).get("utter_source")
    return source if isinstance(source, str) else None


def _list_replies(replies: Iterable[Event], evidence: Evidence) -> str:
    """List the replies with their sources, since a wrong source is the most common mistake."""
    parts = []
    for event in replies:
        payload = cast(Utterance, event.payload)
        source = _get_source(payload)
        origin = f"from {source}" if source else "without a source"
        parts.append(f"turn {evidence.turn_of(event)}: {payload.utter_name or 'no name'}, {origin}")
    if not parts:
        return "the agent did not reply"
    more = f"; and {len(parts) - MAX_LISTED} more" if len(parts) > MAX_LISTED else ""
    return f"its replies: {'; '.join(parts[:MAX_LISTED])}{more}"
