"""`judged`: a statement in plain language, decided by a model over the whole conversation."""

from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from clerkship.assertions.contract import Assertion, Check, Difference
from clerkship.events.event import Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import ledger, quoted, transcript
from clerkship.llm.contract import Question
from clerkship.llm.prompts import Prompt
from clerkship.model.frozen import Flag
from clerkship.model.run import FieldCheck


class Verdict(BaseModel):
    """What the judge answers."""

    reasoning: str
    passed: Flag


class Judged(Assertion):
    """A model reads the transcript, the ledger of events and the simulation context, and says whether it holds."""

    name: ClassVar[str] = "judged"
    judged: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "statement"
    differences: ClassVar[tuple[Difference, ...]] = (
        Difference("questions", "one for each criterion", "one for all of them together; here one each, all the same"),
        Difference("what the judge sees", "the simulation context too", "transcript and ledger alone"),
        Difference("a model that fails", "that criterion's error", "the run fails; here that criterion's error"),
    )
    statement: Annotated[str, Field(min_length=1, pattern=r"\S", description="what must hold, in plain language")]

    def check(self, evidence: Evidence) -> Check:
        """One question. Where the agent did nothing at all there is nothing to ask about."""
        if not _took_part(evidence):
            return Check.of(False, "the agent said and did nothing")
        prompt = evidence.prompts["criterion"]
        context = None if evidence.as_rasa else _context(evidence)
        statement = self.statement.strip()
        told = prompt.fill(
            criterion=statement,
            criteria_text=f"1. {statement}",
            simulation_context=quoted(context) if context else "",
            transcript=transcript(evidence),
            event_ledger=ledger(evidence),
        )
        answer = evidence.ask(Question(told.matter, Verdict, told.orders, prompt.name))
        passed, reasoning = answer.data.passed, answer.data.reasoning.strip() or "(no reason given)"
        return Check.of(passed, reasoning, _judge(answer.model, prompt))


def _judge(model: str, prompt: Prompt) -> FieldCheck:
    asked = {"model": model, "prompt": prompt.mark}
    return FieldCheck(path="judge", expected={"exists": True}, actual=asked, passed=True)


def _context(evidence: Evidence) -> str | None:
    scenario = evidence.task.scenario
    return scenario.person.simulation_context if scenario is not None and scenario.person is not None else None


def _took_part(evidence: Evidence) -> bool:
    said = any(isinstance(event.payload, Utterance) and event.actor == "agent" for event in evidence.events)
    did = any(event.actor == "agent" and event.kind not in _ATTENDANCE for event in evidence.events)
    return said or did or evidence.answered


_ATTENDANCE = frozenset({"agent.started", "agent.failed"})
