"""`generative_response_is_grounded` and `generative_response_is_relevant`: a model rates generated replies."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, cast

from pydantic import BaseModel, BeforeValidator, Field

from clerkship.assertions.citation import CitationIndex
from clerkship.assertions.judge_input import build_judge_row
from clerkship.events.event import Event, Utterance, find_conversations, is_by_agent
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import quote_text
from clerkship.llm.contract import BadAnswer, Question
from clerkship.llm.prompts import Prompt
from clerkship.model.errors import ClerkshipError
from clerkship.model.frozen import Number, Whole
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


class Statement(BaseModel):
    """One statement of a reply."""

    statement: str
    score: Annotated[int, Field(ge=0, le=1)]
    justification: str


class Statements(BaseModel):
    """The answer of the judge."""

    statements: list[Statement]


class GenerativeResponseIsGrounded(GenerativeResponse):
    """A model splits a reply into statements and checks each against the source. The score is the supported share. It
    sees one turn alone, not the rest of the conversation. For conversations of several turns use `judged`, or
    `criteria` of a scenario file: the judge sees all of it, which gives more reliable results. `clerkship validate`
    warns, unless the scenario has `max_turns: 1` or the person says only one line."""

    name: ClassVar[str] = "generative_response_is_grounded"
    differences: ClassVar[tuple[Difference, ...]] = (
        Difference("a source that is empty", "fails, and no model is asked", "the model is asked; here it fails"),
        *SHARED_DIFFERENCES,
    )
    ground_truth: Annotated[
        str | None,
        Field(
            description="the source; by default `search_results` or `domain_ground_truth` in the metadata of the reply"
        ),
    ] = None

    def find_rule_failure(self, reply: Event) -> str | None:
        """Fail if the source is empty: it supports nothing."""
        if self._source(reply).strip():
            return None
        if self.ground_truth is not None:
            return "has no source to be grounded in: `ground_truth` is empty"
        return (
            "has no source to be grounded in: `search_results` and `domain_ground_truth` in its metadata are missing "
            "or empty; report one of them with the reply, or give `ground_truth`"
        )

    def _source(self, reply: Event) -> str:
        if self.ground_truth is not None:
            return self.ground_truth
        return _find_source_text(cast(Utterance, reply.payload).metadata or {})

    def rate(self, reply: Event, evidence: Evidence) -> ReplyRating | None:
        """Return the share of statements that the source supports; None if there are no statements."""
        utterance = cast(Utterance, reply.payload)
        prompt = evidence.prompts["groundedness"]
        filled = prompt.fill(source=quote_text(self._source(reply)), reply=quote_text(utterance.text))
        answer = evidence.ask(Question(filled.content, Statements, filled.instructions, prompt.name))
        statements = answer.data.statements
        if not statements:
            return None
        supported = sum(statement.score for statement in statements)
        rows = tuple(
            FieldCheck(
                path=f"statement {number}: {statement.statement}",
                expected="supported by the source",
                actual=statement.justification,
                passed=statement.score == 1,
                seq=reply.seq,
            )
            for number, statement in enumerate(statements, 1)
        )
        reasoning = f"{supported} of {len(statements)} statements are supported by the source"
        return ReplyRating(supported / len(statements), reasoning, answer.model, prompt, rows)


def _find_source_text(metadata: dict[str, Any]) -> str:
    """Return the source text in a reply's metadata; empty if there is none."""
    for key in ("search_results", "domain_ground_truth"):
        source = metadata.get(key) or ""
        text = "\n".join(map(str, source)) if isinstance(source, list | tuple) else str(source)
        if text.strip():
            return text
    return ""


MIN_NORM = 1e-10


class Relevance(BaseModel):
    """The answer of the judge."""

    reasoning: str
    score: Annotated[Number, Field(ge=0, le=1, allow_inf_nan=False)]


class Variations(BaseModel):
    """Messages that a reply would answer."""

    question_variations: list[str]


class GenerativeResponseIsRelevant(GenerativeResponse):
    """A model scores how relevant a generated reply is to the message before it. It sees that turn alone, not the rest
    of the conversation. For conversations of several turns use `judged`, or `criteria` of a scenario file: the judge
    sees all of it, which gives more reliable results. `clerkship validate` warns, unless the scenario has
    `max_turns: 1` or the person says only one line."""

    name: ClassVar[str] = "generative_response_is_relevant"
    differences: ClassVar[tuple[Difference, ...]] = (
        Difference(
            "how relevance is scored",
            "the model sees message and reply, and gives a score with its reason",
            "the model writes three messages that the reply would answer; the mean cosine of their embeddings with "
            "that of the user's message",
        ),
        Difference("which message of the user", "the one just before the reply", "the last of the conversation"),
        *SHARED_DIFFERENCES,
    )

    def rate(self, reply: Event, evidence: Evidence) -> ReplyRating | None:
        """Ask a model for a score; with `compat: rasa`, compare embeddings."""
        if evidence.is_rasa_compatible:
            return self._by_embeddings(reply, evidence)
        message = find_previous_message(reply, evidence)
        if message is None:
            return None
        text = cast(Utterance, reply.payload).text
        prompt = evidence.prompts["relevance"]
        filled = prompt.fill(message=quote_text(message), reply=quote_text(text))
        answer = evidence.ask(Question(filled.content, Relevance, filled.instructions, prompt.name))
        return ReplyRating(answer.data.score, answer.data.reasoning, answer.model, prompt)

    def _by_embeddings(self, reply: Event, evidence: Evidence) -> ReplyRating | None:
        messages = [cast(Utterance, event.payload).text for event in evidence.utterances if not is_by_agent(event)]
        if not messages:
            return None
        prompt = evidence.prompts["variations"]
        filled = prompt.fill(reply=quote_text(cast(Utterance, reply.payload).text))
        answer = evidence.ask(Question(filled.content, Variations, filled.instructions, prompt.name))
        variations = answer.data.question_variations
        if not any(text.strip() for text in variations):
            return ReplyRating(0.0, "the model found no message that it would answer", answer.model, prompt)
        first, *vectors = evidence.embed([messages[-1], *variations])
        cosines = [cosine_similarity(first, vector) for vector in vectors]
        compared = ", ".join(f"{text!r} {value:.2f}" for text, value in zip(variations, cosines, strict=True))
        return ReplyRating(
            sum(cosines) / len(cosines), f"similarity to {messages[-1]!r}: {compared}", answer.model, prompt
        )


def cosine_similarity(vector: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of two vectors. The norm has a minimum, to avoid division by zero."""
    norm = math.hypot(*vector) * math.hypot(*other)
    return sum(a * b for a, b in zip(vector, other, strict=True)) / max(norm, MIN_NORM)
