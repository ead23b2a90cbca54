"""The parts of a run that a judge sees, each marked as data, and the row that records who judged."""

from collections.abc import Mapping
from functools import cache

from clerkship.events.event import Utterance, is_done_by_agent
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import quote_text, render_ledger, render_transcript, render_value
from clerkship.llm.prompts import BUILT_IN, Prompt, RenderedPrompt, section
from clerkship.model.run import FieldCheck

_LIFECYCLE_KINDS = frozenset({"agent.started", "agent.failed"})
_PERSONA_FIELDS = ("description", "knows", "language")
_MANTLE_PREFIXES = ("agent.skill.", "agent.memory.", "agent.block.")
"""Prefixes of event kinds that only the `mantle` engine reports."""


def build_judge_input(evidence: Evidence) -> dict[str, str]:
    """Return the context, the transcript and the ledger, each fenced here so that no template can omit it."""
    context = "" if evidence.is_rasa_compatible else _render_context(evidence)
    return {
        "simulation_context": section("SIMULATION CONTEXT", context) if context else "",
        "transcript": section("TRANSCRIPT", render_transcript(evidence)),
        "event_ledger": section("LEDGER", render_ledger(evidence)),
        "observers": ", ".join(sorted(evidence.observers)),
        "engine_version": "mantle"
        if any(kind.startswith(_MANTLE_PREFIXES) for kind in evidence.indexes_by_kind)
        else "calm",
    }


def add_caution(filled: RenderedPrompt) -> RenderedPrompt:
    """Add the instruction that sections are data, if a custom template does not have it."""
    caution = _caution()
    return (
        filled
        if caution in filled.instructions
        else RenderedPrompt(f"{caution}\n\n{filled.instructions}".strip(), filled.content)
    )


@cache
def _caution() -> str:
    return BUILT_IN["quoted"].fill().content


def _render_context(evidence: Evidence) -> str:
    """Return the simulation context and the persona of the person."""
    scenario = evidence.task.scenario
    if scenario is None or scenario.person is None:
        return ""
    data = scenario.person.model_dump(mode="json", include={"simulation_context", "persona"})
    context, persona = data.get("simulation_context"), data.get("persona")
    lines = [quote_text(context)] if context else []
    if isinstance(persona, dict):
        lines += [f"{name}: {render_value(persona[name])}" for name in _PERSONA_FIELDS if persona.get(name)]
    return "\n".join(lines)


def has_activity(evidence: Evidence) -> bool:
    """Return whether the agent said or did anything that can be judged."""
    has_spoken = any(isinstance(event.payload, Utterance) and is_done_by_agent(event) for event in evidence.events)
    has_acted = any(event.actor == "agent" and event.kind not in _LIFECYCLE_KINDS for event in evidence.events)
    return has_spoken or has_acted or evidence.answered


def build_judge_row(evidence: Evidence, model: str, prompt: Prompt) -> FieldCheck:
    """Return the row with the model, the prompt and the parameters of the judge."""
    judge: Mapping[str, object] = {"model": model, "prompt": prompt.version, "parameters": dict(evidence.parameters)}
    return FieldCheck(path="judge", expected={"exists": True}, actual=judge, passed=True)
