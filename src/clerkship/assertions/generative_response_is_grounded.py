"""`generative_response_is_grounded`: the source supports the statements of a generated reply."""

from typing import Annotated, Any, ClassVar, cast

from pydantic import BaseModel, Field

from clerkship.assertions.generative import SHARED_DIFFERENCES, GenerativeResponse, ReplyRating
from clerkship.events.event import Event, Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import quote_text
from clerkship.llm.contract import Question
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Difference


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
