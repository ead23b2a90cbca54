"""What a judge is shown of a run, every part of it fenced off as data; and what is kept of who judged, and how."""

from collections.abc import Mapping
from functools import cache

from clerkship.events.event import Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import quote_text, render_ledger, render_transcript, render_value
from clerkship.llm.prompts import BUILT_IN, Prompt, RenderedPrompt, section
from clerkship.model.run import FieldCheck

_LIFECYCLE_KINDS = frozenset({"agent.started", "agent.failed"})
_PERSONA_FIELDS = ("description", "knows", "language")
_MANTLE_PREFIXES = ("agent.skill.", "agent.memory.", "agent.block.")
"""Events that only an engine of skills and memory writes."""


def build_judge_input(evidence: Evidence) -> dict[str, str]:
    """Who the user was meant to be, what was said and what was done: fenced here, so that no template can forget to."""
    context = "" if evidence.is_rasa_compatible else _render_context(evidence)
    return {
        "simulation_context": section("SIMULATION CONTEXT", context) if context else "",
        "transcript": section("TRANSCRIPT", render_transcript(evidence)),
        "event_ledger": section("LEDGER", render_ledger(evidence)),
        "observers": ", ".join(sorted(evidence.observers)),
        "engine_version": "mantle" if any(kind.startswith(_MANTLE_PREFIXES) for kind in evidence.places) else "calm",
    }


def add_caution(told: RenderedPrompt) -> RenderedPrompt:
    """With the word that sections are data, where a template of somebody's own does not say it."""
    caution = _caution()
    return told if caution in told.orders else RenderedPrompt(f"{caution}\n\n{told.orders}".strip(), told.matter)


@cache
def _caution() -> str:
    return BUILT_IN["quoted"].fill().matter


def _render_context(evidence: Evidence) -> str:
    """Who the user was meant to be: their context, and their persona if they have one."""
    scenario = evidence.task.scenario
    if scenario is None or scenario.person is None:
        return ""
    told = scenario.person.model_dump(mode="json", include={"simulation_context", "persona"})
    context, persona = told.get("simulation_context"), told.get("persona")
    lines = [quote_text(context)] if context else []
    if isinstance(persona, dict):
        lines += [f"{name}: {render_value(persona[name])}" for name in _PERSONA_FIELDS if persona.get(name)]
    return "\n".join(lines)


def has_activity(evidence: Evidence) -> bool:
    """Whether the agent said or did anything that could be judged."""
    said = any(isinstance(event.payload, Utterance) and event.actor == "agent" for event in evidence.events)
    did = any(event.actor == "agent" and event.kind not in _LIFECYCLE_KINDS for event in evidence.events)
    return said or did or evidence.answered


def build_judge_row(evidence: Evidence, model: str, prompt: Prompt) -> FieldCheck:
    """Who judged, by which prompt, and with which parameters: as they are written, with no variable put in."""
    asked: Mapping[str, object] = {"model": model, "prompt": prompt.mark, "parameters": dict(evidence.parameters)}
    return FieldCheck(path="judge", expected={"exists": True}, actual=asked, passed=True)
