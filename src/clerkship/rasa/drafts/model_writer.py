"""Drafts by a model: what it writes is held against flow and domain, and asked for again where it will not do."""

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
from clerkship.rasa.drafts.kinds import Draft, DraftPlan, Project, skeleton, spoken
from clerkship.rasa.drafts.values import type_of

MAX_ATTEMPTS = 3
MAX_CONCURRENT = 8
_MAX_NAME_LENGTH, _MAX_CONTEXT, _MAX_CRITERION, _MAX_CRITERIA = 120, 4000, 300, 6
_MAX_OTHERS = 60
Value = bool | float | str | list[str]


class SlotValue(BaseModel):
    """A slot, and what the user says for it."""

    slot: str
    value: Value


class Written(BaseModel):
    """What a model is to write."""

    name: str
    simulation_context: str
    values: list[SlotValue]
    mistaken: Annotated[Value | None, Field(description="only in a correction: what is said first")]
    criteria: list[str]


def ask_all(plans: list[DraftPlan], project: Project, asker: TrialModel, prompts: Prompts) -> list[Draft]:
    """Each as a model writes it, else as rules do, with a note. Once it cannot be reached, nobody is asked any more."""
    writer = _Writer(project, asker, prompts)
    pool = ThreadPoolExecutor(MAX_CONCURRENT)
    try:
        return list(pool.map(writer.write, plans))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # whoever stops it does not wait for what is still asked


class _Writer:
    """Asks for one draft after another, by several threads at once."""

    def __init__(self, project: Project, asker: TrialModel, prompts: Prompts) -> None:
        self._project, self._asker, self._prompts = project, asker, prompts
        self._outage = ""
        self._answered = False

    def write(self, plan: DraftPlan) -> Draft:
        """Ask, at most so many times."""
        complaints: list[str] = []
        for time in range(MAX_ATTEMPTS):
            if self._outage:
                break
            try:
                answer = self._asker.ask(self._question(plan, complaints, time))
            except (ModelOutage, RequestDeclined) as error:
                if isinstance(error, RequestDeclined) and not self._answered:
                    raise  # a key or a model that is not one: nobody wants skeletons instead
                self._outage = str(error)
                continue
            except BadAnswer as bad:
                complaints = [str(bad)]
                continue
            self._answered = True
            complaints = list(_complaints(answer.data, plan, self._project))
            if not complaints:
                return _accepted(answer.data, plan, answer.model)
        if self._outage:
            return skeleton(plan, f"the model could not be asked ({self._outage})", outage=True)
        asked = f"{self._asker.name} was asked {MAX_ATTEMPTS} times"
        return skeleton(plan, f"{asked}, and its draft would not do: {complaints[0]}")

    def _question(self, plan: DraftPlan, complaints: list[str], time: int) -> Question[Written]:
        told = self._prompts["draft"].fill(
            flow=_json(_flow(plan)),
            domain=_json(_slots(plan, self._project)),
            others=_json(_others(plan, self._project)),
            kind=plan.kind.replace("_", " "),
            brief=plan.text("brief"),
            complaints="\n".join(map(quote_text, complaints)),
        )
        sample = f"time {time + 1}" if time else ""
        return Question(told.matter, Written, told.orders, "draft", sample=sample)


def _accepted(written: Written, plan: DraftPlan, model: str) -> Draft:
    values: dict[str, JsonValue] = {item.slot: _plain(item.value) for item in written.values}
    wrong = _plain(written.mistaken) if plan.mistaken else None
    chosen = replace(plan, values={slot: values[slot] for slot in plan.values}, wrong=wrong)
    criteria = [" ".join(text.split()) for text in written.criteria]
    name = " ".join(written.name.split())
    return Draft(chosen, name, written.simulation_context.strip(), criteria, by=model)


def _plain(value: Value | None) -> JsonValue:
    if isinstance(value, list):
        return [*value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _complaints(written: Written, plan: DraftPlan, project: Project) -> Iterator[str]:
    yield from _of_texts(written)
    given = [item.slot for item in written.values]
    for slot in sorted({slot for slot in given if slot not in plan.values}):
        yield f"`{slot}` is no slot that this way asks for"
    for slot in plan.values:
        if given.count(slot) != 1:
            yield f"`values` has the slot `{slot}` {given.count(slot)} times, and needs it once"
    context = written.simulation_context
    for item in written.values:
        if item.slot in plan.values:
            yield from _of_value(item.slot, _plain(item.value), context, project)
            if item.slot in plan.path.implied and _plain(item.value) != plan.values[item.slot]:
                yield f"`{item.slot}` must be {_json(plan.values[item.slot])}, or the flow goes another way"
    yield from _of_mistake(written, plan, context, project)


def _of_texts(written: Written) -> Iterator[str]:
    if not written.name.strip() or len(written.name) > _MAX_NAME_LENGTH:
        yield f"`name` must be a text of at most {_MAX_NAME_LENGTH} characters"
    if not written.simulation_context.strip() or len(written.simulation_context) > _MAX_CONTEXT:
        yield f"`simulation_context` must be a text of at most {_MAX_CONTEXT} characters"
    texts = [text.strip() for text in written.criteria]
    if not 1 <= len(texts) <= _MAX_CRITERIA or len(set(texts)) != len(texts):
        yield f"`criteria` must be one to {_MAX_CRITERIA} different texts"
    if any(not text or len(text) > _MAX_CRITERION for text in texts):
        yield f"each of `criteria` must be a text of at most {_MAX_CRITERION} characters"


def _of_value(slot: str, value: JsonValue, context: str, project: Project) -> Iterator[str]:
    kind = type_of(slot, project.domain)
    wanted = describe_slot_mismatch(value, kind)
    choices = project.domain.choices.get(slot, ()) if project.domain is not None else ()
    if wanted:
        yield f"the slot `{slot}` is of type {kind} and takes {wanted}, not {_json(value)}"
    elif choices and kind in ("categorical", "strict_categorical") and value not in choices:
        yield f"the slot `{slot}` takes one of {_json(list(choices))}, not {_json(value)}"
    elif value in ("", []):
        yield f"the slot `{slot}` needs a value"
    elif not isinstance(value, bool | list) and spoken(value).casefold() not in context.casefold():
        yield f"the value of `{slot}`, {_json(value)}, does not stand in `simulation_context`"


def _of_mistake(written: Written, plan: DraftPlan, context: str, project: Project) -> Iterator[str]:
    if not plan.mistaken:
        return
    wrong = _plain(written.mistaken)
    right = next((_plain(item.value) for item in written.values if item.slot == plan.mistaken), None)
    if wrong is None or wrong == right:
        yield f"`mistaken` must be another value of `{plan.mistaken}`, which the user says first and then corrects"
    else:
        yield from _of_value(plan.mistaken, wrong, context, project)


def _flow(plan: DraftPlan) -> JsonValue:
    flow = plan.flow
    way: list[JsonValue] = [{"does": step.kind, "what": step.name, "says_of_it": step.hint} for step in plan.path.steps]
    conditions: list[JsonValue] = [*plan.path.conditions]
    return {"flow": flow.id, "name": flow.words, "description": flow.description, "way": way, "if": conditions}


def _slots(plan: DraftPlan, project: Project) -> JsonValue:
    known = project.domain.choices if project.domain is not None else {}
    return [
        {"slot": slot, "type": type_of(slot, project.domain), "choices": list(known.get(slot, ()))}
        for slot in plan.values
    ]


def _others(plan: DraftPlan, project: Project) -> JsonValue:
    others = [flow for flow in project.flows.values() if flow.id != plan.flow.id and flow.is_for_people]
    first = [plan.partner] if plan.partner is not None else []
    return [{"name": flow.words, "description": flow.description} for flow in [*first, *others][:_MAX_OTHERS]]


def _json(value: JsonValue) -> str:
    """On one line, whatever is in it."""
    return json.dumps(value)
