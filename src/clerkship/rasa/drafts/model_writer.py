"""Write drafts with a model. Each answer is checked against flow and domain, and requested again if it is invalid."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, Field, JsonValue

from clerkship.events.ledger import quote_text
from clerkship.llm.contract import BadAnswer, Question
from clerkship.llm.prompts import Prompts
from clerkship.llm.retry import ModelOutage, RequestDeclined
from clerkship.llm.trial_model import TrialModel
from clerkship.model.agent_domain import describe_slot_mismatch
from clerkship.rasa.drafts.kinds import Draft, DraftPlan, RasaProject, draft_by_rules, to_spoken
from clerkship.rasa.drafts.values import get_slot_type

MAX_ATTEMPTS = 3
MAX_CONCURRENT = 8
_MAX_NAME_LENGTH, _MAX_CONTEXT_LENGTH, _MAX_CRITERION_LENGTH, _MAX_CRITERIA = 120, 4000, 300, 6
_MAX_OTHER_FLOWS = 60
AnswerValue = bool | float | str | list[str]


class SlotValue(BaseModel):
    """A slot, and the value that the user gives for it."""

    slot: str
    value: AnswerValue


class DraftAnswer(BaseModel):
    """The answer expected from the model."""

    name: str
    simulation_context: str
    values: list[SlotValue]
    mistaken: Annotated[AnswerValue | None, Field(description="only in a correction: what is said first")]
    criteria: list[str]


def write_drafts(plans: list[DraftPlan], project: RasaProject, asker: TrialModel, prompts: Prompts) -> list[Draft]:
    """Write each draft with the model; if that fails, by rules with a note.

    Once the model cannot be reached, it is not called again.
    """
    writer = _DraftWriter(project, asker, prompts)
    pool = ThreadPoolExecutor(MAX_CONCURRENT)
    try:
        return list(pool.map(writer.write, plans))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # do not wait for pending requests when interrupted


class _DraftWriter:
    """Writes drafts in several threads."""

    def __init__(self, project: RasaProject, asker: TrialModel, prompts: Prompts) -> None:
        self._project, self._asker, self._prompts = project, asker, prompts
        self._outage = ""
        self._answered = False

    def write(self, plan: DraftPlan) -> Draft:
        """Ask the model for a draft, with a limited number of attempts."""
        complaints: list[str] = []
        for time in range(MAX_ATTEMPTS):
            if self._outage:
                break
            try:
                answer = self._asker.ask(self._question(plan, complaints, time))
            except (ModelOutage, RequestDeclined) as error:
                if isinstance(error, RequestDeclined) and not self._answered:
                    raise  # wrong key or model name: report that instead of writing drafts by rules
                self._outage = str(error)
                continue
            except BadAnswer as bad:
                complaints = [str(bad)]
                continue
            self._answered = True
            complaints = list(_find_problems(answer.data, plan, self._project))
            if not complaints:
                return _build_draft(answer.data, plan, answer.model)
        if self._outage:
            return draft_by_rules(plan, f"the model could not be asked ({self._outage})", outage=True)
        attempts = f"{self._asker.name} was asked {MAX_ATTEMPTS} times"
        return draft_by_rules(plan, f"{attempts}, and its draft was still invalid: {complaints[0]}")

    def _question(self, plan: DraftPlan, complaints: list[str], time: int) -> Question[DraftAnswer]:
        prompt = self._prompts["draft"].fill(
            flow=_to_json(_describe_flow(plan)),
            domain=_to_json(_describe_slots(plan, self._project)),
            others=_to_json(_describe_other_flows(plan, self._project)),
            kind=plan.kind.replace("_", " "),
            brief=plan.text("brief"),
            complaints="\n".join(map(quote_text, complaints)),
        )
        sample = f"time {time + 1}" if time else ""
        return Question(prompt.content, DraftAnswer, prompt.instructions, "draft", sample=sample)


def _build_draft(written: DraftAnswer, plan: DraftPlan, model: str) -> Draft:
    values: dict[str, JsonValue] = {item.slot: _to_plain(item.value) for item in written.values}
    wrong = _to_plain(written.mistaken) if plan.mistaken else None
    chosen = replace(plan, values={slot: values[slot] for slot in plan.values}, wrong=wrong)
    criteria = [" ".join(text.split()) for text in written.criteria]
    name = " ".join(written.name.split())
    return Draft(chosen, name, written.simulation_context.strip(), criteria, by=model)


def _to_plain(value: AnswerValue | None) -> JsonValue:
    if isinstance(value, list):
        return [*value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _find_problems(written: DraftAnswer, plan: DraftPlan, project: RasaProject) -> Iterator[str]:
    yield from _check_texts(written)
    given = [item.slot for item in written.values]
    for slot in sorted({slot for slot in given if slot not in plan.values}):
        yield f"`{slot}` is no slot that this way asks for"
    for slot in plan.values:
        if given.count(slot) != 1:
            yield f"`values` has the slot `{slot}` {given.count(slot)} times, and needs it once"
    context = written.simulation_context
    for item in written.values:
        if item.slot in plan.values:
            yield from _check_value(item.slot, _to_plain(item.value), context, project)
            if plan.path.fits(item.slot, value := _to_plain(item.value)) is False:
                other = _to_json(plan.values[item.slot])
                why = f"the flow would go another way, or refuse it; {other} is possible"
                yield f"`{item.slot}` cannot be {_to_json(value)}: {why}"
    yield from _check_wrong_value(written, plan, context, project)


def _check_texts(written: DraftAnswer) -> Iterator[str]:
    if not written.name.strip() or len(written.name) > _MAX_NAME_LENGTH:
        yield f"`name` must be a text of at most {_MAX_NAME_LENGTH} characters"
    if not written.simulation_context.strip() or len(written.simulation_context) > _MAX_CONTEXT_LENGTH:
        yield f"`simulation_context` must be a text of at most {_MAX_CONTEXT_LENGTH} characters"
    texts = [text.strip() for text in written.criteria]
    if not 1 <= len(texts) <= _MAX_CRITERIA or len(set(texts)) != len(texts):
        yield f"`criteria` must be one to {_MAX_CRITERIA} different texts"
    if any(not text or len(text) > _MAX_CRITERION_LENGTH for text in texts):
        yield f"each of `criteria` must be a text of at most {_MAX_CRITERION_LENGTH} characters"


def _check_value(slot: str, value: JsonValue, context: str, project: RasaProject) -> Iterator[str]:
    kind = get_slot_type(slot, project.domain)
    expected = describe_slot_mismatch(value, kind)
    choices = project.domain.choices.get(slot, ()) if project.domain is not None else ()
    if expected:
        yield f"the slot `{slot}` is of type {kind}: expected {expected}, not {_to_json(value)}"
    elif choices and kind in ("categorical", "strict_categorical") and value not in choices:
        yield f"the slot `{slot}` takes one of {_to_json(list(choices))}, not {_to_json(value)}"
    elif value in ("", []):
        yield f"the slot `{slot}` needs a value"
    elif not isinstance(value, bool | list) and to_spoken(value).casefold() not in context.casefold():
        yield f"the value of `{slot}`, {_to_json(value)}, does not stand in `simulation_context`"


def _check_wrong_value(written: DraftAnswer, plan: DraftPlan, context: str, project: RasaProject) -> Iterator[str]:
    if not plan.mistaken:
        return
    wrong = _to_plain(written.mistaken)
    right = next((_to_plain(item.value) for item in written.values if item.slot == plan.mistaken), None)
    if wrong is None or wrong == right:
        yield f"`mistaken` must be another value of `{plan.mistaken}`, which the user says first and then corrects"
    else:
        yield from _check_value(plan.mistaken, wrong, context, project)


def _describe_flow(plan: DraftPlan) -> JsonValue:
    flow = plan.flow
    if plan.kind == "out_of_scope":
        return {"flow": None, "description": "What the user wants is done by none of the other flows."}
    way: list[JsonValue] = [{"does": step.kind, "what": step.name, "says_of_it": step.hint} for step in plan.path.steps]
    conditions: list[JsonValue] = [*plan.path.conditions]
    return {"flow": flow.id, "name": flow.words, "description": flow.description, "way": way, "if": conditions}


def _describe_slots(plan: DraftPlan, project: RasaProject) -> JsonValue:
    known = project.domain.choices if project.domain is not None else {}
    return [
        {"slot": slot, "type": get_slot_type(slot, project.domain), "choices": list(known.get(slot, ()))}
        for slot in plan.values
    ]


def _describe_other_flows(plan: DraftPlan, project: RasaProject) -> JsonValue:
    others = [flow for flow in project.flows.values() if flow.id != plan.flow.id and flow.is_for_people]
    first = [plan.partner] if plan.partner is not None else []
    return [{"name": flow.words, "description": flow.description} for flow in [*first, *others][:_MAX_OTHER_FLOWS]]


def _to_json(value: JsonValue) -> str:
    return json.dumps(value)
