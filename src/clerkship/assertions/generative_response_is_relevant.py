"""`generative_response_is_relevant`: a generated reply answers the user's message before it."""

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar, cast

from pydantic import BaseModel, Field

from clerkship.assertions.generative import SHARED_DIFFERENCES, GenerativeResponse, ReplyRating, find_previous_message
from clerkship.events.event import Event, Utterance, is_by_agent
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import quote_text
from clerkship.llm.contract import Question
from clerkship.model.frozen import Number
from clerkship.sandbox.assertion import Difference

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
