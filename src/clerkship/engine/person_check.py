"""Ask a judge whether a person was played as described, before anything else is judged.

This is done with `--check-person`, or if the person has `check: model`.
"""

from dataclasses import replace
from typing import Annotated, NamedTuple, cast

from pydantic import BaseModel, Field

from clerkship.assertions.citation import normalize_text, remove_label
from clerkship.events.event import Utterance, find_conversations, is_by_agent
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import quote_text, render_transcript, to_json
from clerkship.events.lifecycle import PersonUsedTool
from clerkship.llm.contract import BadAnswer, NoModel, Question
from clerkship.model.errors import ClerkshipError, PlatformError
from clerkship.model.frozen import Flag
from clerkship.model.scenario import ScenarioPerson

PROMPT = "person_check"
MAX_RETRIES = 2
"""How often the judge is asked again if its quotes are not in the transcript."""


# The names of nested models and all docstrings are part of the schema that cassettes are keyed by. Do not change them.
class Cited(BaseModel):
    """A line of the person's that a judge relies on."""

    turn: int
    quote: str


class PersonCheckAnswer(BaseModel):
    """What the judge answers."""

    reasoning: str
    lines: Annotated[list[Cited], Field(default_factory=list)]
    kept: Flag


class PersonCheckResult(NamedTuple):
    """Whether a person was played as described, the reason, and the model and prompt that decided it."""

    is_as_described: bool
    reason: str
    lines: tuple[str, ...]
    """The lines of the person that the judge quotes, each after its turn."""
    model: str
    prompt: str
    """The version of the prompt."""


class PersonCheckFailed(PlatformError):
    """Raised when the judge gives no valid answer about how a person was played; the trial is errored."""


def check_person(person: ScenarioPerson, evidence: Evidence) -> PersonCheckResult:
    """Ask the judge whether a person was played as described.

    If the answer quotes lines that the person never said, it is asked again, up to MAX_RETRIES times.

    Raises PersonCheckFailed if there is no valid answer.
    """
    prompt = evidence.prompts[PROMPT]
    flaw = ""
    try:
        for attempt in range(MAX_RETRIES + 1):
            filled = prompt.fill(
                person=_describe_person(person, evidence),
                simulation_context=quote_text(person.simulation_context or ""),
                transcript=render_transcript(evidence),
                may_invent=person.may_make_up_facts,
                broken=flaw,
            )
            sample = f"again {attempt}" if attempt else ""
            answer = evidence.ask(
                Question(filled.content, PersonCheckAnswer, filled.instructions, PROMPT, sample=sample)
            )
            verdict = answer.data
            flaw = _find_flaw(verdict, evidence)
            if not flaw:
                lines = tuple(f"T{line.turn}: {line.quote}" for line in verdict.lines if _was_said(line, evidence))
                reason = verdict.reasoning.strip() or "(no reason given)"
                return PersonCheckResult(verdict.kept, reason, lines, answer.model, prompt.version)
    except (BadAnswer, NoModel, ClerkshipError) as error:
        raise PersonCheckFailed(f"the person check failed: {error}") from error
    raise PersonCheckFailed(f"the person check failed: {flaw}")


def only_conversation(evidence: Evidence, conversation: str) -> Evidence:
    """Return the evidence without the messages of other conversations."""
    events = [
        event
        for event in evidence.events
        if not isinstance(event.payload, Utterance | PersonUsedTool) or conversation in find_conversations(event)
    ]
    return replace(evidence, events=events)


def _describe_person(person: ScenarioPerson, evidence: Evidence) -> str:
    """Describe everything that the person was given, so that the judge does not think they invented it.

    The names below are part of the prompt, and so of the keys of cassettes. Do not change them.
    """
    persona, scenario = person.resolved_persona, evidence.task.scenario
    script = person.model_dump(mode="json", include={"opening", "lines", "script", "fallback", "end"})
    filled_parts = {name: part for name, part in script.items() if part}
    description = {
        "name": person.name if person.name != "person" else None,
        "simulation_context": person.simulation_context,
        "persona": persona.description if persona is not None else None,
        "knows": to_json(persona.knows) if persona and persona.knows else None,
        "language": person.spoken_language,
        "what the agent holds true of them from the start": to_json(scenario.initial_slots)
        if scenario is not None and scenario.initial_slots
        else None,
        "their script; what stands in it was written by their author, and is no fault of theirs": to_json(filled_parts)
        if filled_parts and not person.is_played
        else None,
        "what they did with things of their own, and what it showed them": to_json(_list_tool_uses(evidence))
        if person.tools
        else None,
    }
    return "\n".join(f"{name}: {quote_text(text)}" for name, text in description.items() if text)


def _list_tool_uses(evidence: Evidence) -> list[tuple[str, str]]:
    used = (event.payload for event in evidence.of_kind(PersonUsedTool.kind))
    return [(each.tool, each.result) for each in used if isinstance(each, PersonUsedTool)]


def _find_flaw(answer: PersonCheckAnswer, evidence: Evidence) -> str:
    """Return what is wrong with the judge's answer; empty if nothing is."""
    if not answer.kept and not answer.lines:
        return "the answer says that the person was not played as described, but quotes no line of theirs"
    lines = [] if answer.kept else answer.lines
    wrong = next((line for line in lines if not _was_said(line, evidence)), None)
    return f"the person never said {wrong.quote[:200]!r} in turn {wrong.turn}" if wrong is not None else ""


def _was_said(line: Cited, evidence: Evidence) -> bool:
    quote = normalize_text(remove_label(line.quote)).casefold()
    return bool(quote) and any(
        quote in normalize_text(cast(Utterance, event.payload).text).casefold()
        for event in evidence.utterances
        if not is_by_agent(event) and evidence.turn_of(event) == line.turn
    )
