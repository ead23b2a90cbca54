"""A judge looks at how a person was played, after the conversation and before anything is judged. Asked for by
`--check-person`, or by `check: model` of the person."""

from dataclasses import replace
from typing import Annotated, NamedTuple, cast

from pydantic import BaseModel, Field

from clerkship.assertions.citation import plain, unlabelled
from clerkship.events.event import Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import as_json, quoted, transcript
from clerkship.llm.contract import BadAnswer, NoModel, Question
from clerkship.model.frozen import Flag
from clerkship.model.problem import ClerkshipError, PlatformError
from clerkship.model.scenario import ScenarioPerson

PROMPT = "person_check"
AGAIN = 2
"""How often a judge is asked again whose quotes are nowhere in the transcript."""


class Cited(BaseModel):
    """A line of the person's that a judge relies on."""

    turn: int
    quote: str


class Opinion(BaseModel):
    """What the judge answers."""

    reasoning: str
    lines: Annotated[list[Cited], Field(default_factory=list)]
    kept: Flag


class Played(NamedTuple):
    """Whether a person was played as they should be, why, and who says so by which prompt."""

    kept: bool
    reason: str
    lines: tuple[str, ...]
    model: str
    prompt: str


class Unchecked(PlatformError):
    """Nobody could say how the person was played: the run is errored, for that was asked for."""


def check_person(person: ScenarioPerson, evidence: Evidence) -> Played:
    """One question; more only where the answer relies on what was never said."""
    prompt = evidence.prompts[PROMPT]
    broken = ""
    try:
        for attempt in range(AGAIN + 1):
            told = prompt.fill(
                person=_about(person, evidence),
                simulation_context=quoted(person.simulation_context or ""),
                transcript=transcript(evidence),
                may_invent=person.may_invent or bool(person.manner and person.manner.may_invent),
                broken=broken,
            )
            sample = f"again {attempt}" if attempt else ""
            answer = evidence.ask(Question(told.matter, Opinion, told.orders, PROMPT, sample=sample))
            opinion = answer.data
            broken = _flaw(opinion, evidence)
            if not broken:
                lines = tuple(f"T{line.turn}: {line.quote}" for line in opinion.lines if _was_said(line, evidence))
                reason = opinion.reasoning.strip() or "(no reason given)"
                return Played(opinion.kept, reason, lines, answer.model, prompt.mark)
    except (BadAnswer, NoModel, ClerkshipError) as error:
        raise Unchecked(f"how the person was played could not be checked: {error}") from error
    raise Unchecked(f"how the person was played could not be checked: {broken}")


def in_conversation(evidence: Evidence, sandbox: str) -> Evidence:
    """Return the evidence without what was said in the conversations of other sandboxes."""
    events = [e for e in evidence.events if e.source == sandbox or not isinstance(e.payload, Utterance)]
    return replace(evidence, events=events)


def _about(person: ScenarioPerson, evidence: Evidence) -> str:
    """All that the rules count as given to them: nothing of it is made up."""
    persona, scenario = person.manner, evidence.task.scenario
    written = person.model_dump(mode="json", include={"opening", "lines", "script", "fallback", "end"})
    given = {name: part for name, part in written.items() if part}
    told = {
        "name": person.name if person.name != "person" else None,
        "simulation_context": person.simulation_context,
        "persona": persona.description if persona is not None else None,
        "knows": as_json(persona.knows) if persona and persona.knows else None,
        "language": person.speaks,
        "what the agent holds true of them from the start": as_json(scenario.initial_slots)
        if scenario is not None and scenario.initial_slots
        else None,
        "their script; what stands in it was written by their author, and is no fault of theirs": as_json(given)
        if given and not person.is_played
        else None,
    }
    return "\n".join(f"{name}: {quoted(text)}" for name, text in told.items() if text)


def _flaw(opinion: Opinion, evidence: Evidence) -> str:
    """What is wrong with the answer itself."""
    if not opinion.kept and not opinion.lines:
        return "it finds the person badly played, and names no line of theirs"
    lines = [] if opinion.kept else opinion.lines
    wrong = next((line for line in lines if not _was_said(line, evidence)), None)
    return f"the person never said {wrong.quote[:200]!r} in turn {wrong.turn}" if wrong is not None else ""


def _was_said(line: Cited, evidence: Evidence) -> bool:
    wanted = plain(unlabelled(line.quote)).casefold()
    return bool(wanted) and any(
        wanted in plain(cast(Utterance, event.payload).text).casefold()
        for event in evidence.utterances
        if event.actor != "agent" and evidence.turn_of(event) == line.turn
    )
