"""Drafts by a model: what it writes is held against flow and domain, and asked for again where it will not do."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, Field, JsonValue

from clerkship.events.ledger import quoted
from clerkship.llm.asker import Asker
from clerkship.llm.completions import Declined, ModelOutage
from clerkship.llm.contract import BadAnswer, Question
from clerkship.llm.prompts import Prompts
from clerkship.model.domain import misfit
from clerkship.rasa.drafts.kinds import Draft, Matter, Project, skeleton, slot_words, spoken
from clerkship.rasa.drafts.values import type_of

TIMES = 3
AT_ONCE = 8
_LONGEST_NAME, _LONGEST_CONTEXT, _LONGEST_CRITERION, _MOST_CRITERIA = 120, 4000, 300, 6
_MOST_OTHERS = 60
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


@dataclass(frozen=True)
class Drafted:
    """What came of it: the matter with the values that were chosen, and the text."""

    made: Matter
    draft: Draft
    outage: bool = False


def ask_all(matters: list[Matter], project: Project, asker: Asker, prompts: Prompts) -> list[Drafted]:
    """Each as a model writes it, else as rules do, with a note. Once it cannot be reached, nobody is asked any more."""
    writer = _Writer(project, asker, prompts)
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        return list(pool.map(writer.write, matters))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # whoever stops it does not wait for what is still asked


class _Writer:
    """Asks for one draft after another, by several threads at once."""

    def __init__(self, project: Project, asker: Asker, prompts: Prompts) -> None:
        self._project, self._asker, self._prompts = project, asker, prompts
        self._outage = ""
        self._answered = False

    def write(self, made: Matter) -> Drafted:
        """Ask, at most so many times."""
        complaints: list[str] = []
        for time in range(TIMES):
            if self._outage:
                break
            try:
                answer = self._asker.ask(self._question(made, complaints, time))
            except (ModelOutage, Declined) as error:
                if isinstance(error, Declined) and not self._answered:
                    raise  # a key or a model that is not one: nobody wants skeletons instead
                self._outage = str(error)
                continue
            except BadAnswer as bad:
                complaints = [str(bad)]
                continue
            self._answered = True
            complaints = list(_complaints(answer.data, made, self._project))
            if not complaints:
                return _accepted(answer.data, made, answer.model)
        if self._outage:
            return _by_rules(made, f"the model could not be asked ({self._outage})", outage=True)
        return _by_rules(
            made, f"{self._asker.name} was asked {TIMES} times, and its draft would not do: {complaints[0]}"
        )

    def _question(self, made: Matter, complaints: list[str], time: int) -> Question[Written]:
        told = self._prompts["draft"].fill(
            flow=_json(_flow(made)),
            domain=_json(_slots(made, self._project)),
            others=_json(_others(made, self._project)),
            kind=made.kind.replace("_", " "),
            brief=_brief(made),
            complaints="\n".join(map(quoted, complaints)),
        )
        sample = f"time {time + 1}" if time else ""
        return Question(told.matter, Written, told.orders, "draft", sample=sample)


def _by_rules(made: Matter, note: str, *, outage: bool = False) -> Drafted:
    return Drafted(made, replace(skeleton(made), note=note), outage=outage)


def _accepted(written: Written, made: Matter, model: str) -> Drafted:
    values: dict[str, JsonValue] = {item.slot: _plain(item.value) for item in written.values}
    wrong = _plain(written.mistaken) if made.mistaken else None
    chosen = replace(made, values={slot: values[slot] for slot in made.values}, wrong=wrong)
    criteria = [" ".join(text.split()) for text in written.criteria]
    draft = Draft(" ".join(written.name.split()), written.simulation_context.strip(), criteria, by=model)
    return Drafted(chosen, draft)


def _plain(value: Value | None) -> JsonValue:
    if isinstance(value, list):
        return [*value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _complaints(written: Written, made: Matter, project: Project) -> Iterator[str]:
    yield from _of_texts(written)
    given = [item.slot for item in written.values]
    for slot in sorted({slot for slot in given if slot not in made.values}):
        yield f"`{slot}` is no slot that this way asks for"
    for slot in made.values:
        if given.count(slot) != 1:
            yield f"`values` has the slot `{slot}` {given.count(slot)} times, and needs it once"
    context = written.simulation_context
    for item in written.values:
        if item.slot in made.values:
            yield from _of_value(item.slot, _plain(item.value), context, project)
            if item.slot in made.way.implied and _plain(item.value) != made.values[item.slot]:
                yield f"`{item.slot}` must be {_json(made.values[item.slot])}, or the flow goes another way"
    yield from _of_mistake(written, made, context, project)


def _of_texts(written: Written) -> Iterator[str]:
    if not written.name.strip() or len(written.name) > _LONGEST_NAME:
        yield f"`name` must be a text of at most {_LONGEST_NAME} characters"
    if not written.simulation_context.strip() or len(written.simulation_context) > _LONGEST_CONTEXT:
        yield f"`simulation_context` must be a text of at most {_LONGEST_CONTEXT} characters"
    texts = [text.strip() for text in written.criteria]
    if not 1 <= len(texts) <= _MOST_CRITERIA or len(set(texts)) != len(texts):
        yield f"`criteria` must be one to {_MOST_CRITERIA} different texts"
    if any(not text or len(text) > _LONGEST_CRITERION for text in texts):
        yield f"each of `criteria` must be a text of at most {_LONGEST_CRITERION} characters"


def _of_value(slot: str, value: JsonValue, context: str, project: Project) -> Iterator[str]:
    kind = type_of(slot, project.domain)
    wanted = misfit(value, kind)
    choices = project.domain.choices.get(slot, ()) if project.domain is not None else ()
    if wanted:
        yield f"the slot `{slot}` is of type {kind} and takes {wanted}, not {_json(value)}"
    elif choices and kind in ("categorical", "strict_categorical") and value not in choices:
        yield f"the slot `{slot}` takes one of {_json(list(choices))}, not {_json(value)}"
    elif value in ("", []):
        yield f"the slot `{slot}` needs a value"
    elif not isinstance(value, bool | list) and spoken(value).casefold() not in context.casefold():
        yield f"the value of `{slot}`, {_json(value)}, does not stand in `simulation_context`"


def _of_mistake(written: Written, made: Matter, context: str, project: Project) -> Iterator[str]:
    if not made.mistaken:
        return
    wrong = _plain(written.mistaken)
    right = next((_plain(item.value) for item in written.values if item.slot == made.mistaken), None)
    if wrong is None or wrong == right:
        yield f"`mistaken` must be another value of `{made.mistaken}`, which the user says first and then corrects"
    else:
        yield from _of_value(made.mistaken, wrong, context, project)


def _flow(made: Matter) -> JsonValue:
    flow = made.flow
    way: list[JsonValue] = [{"does": move.sort, "what": move.name, "says_of_it": move.hint} for move in made.way.moves]
    conditions: list[JsonValue] = [*made.way.conditions]
    return {"flow": flow.id, "name": flow.words, "description": flow.description, "way": way, "if": conditions}


def _slots(made: Matter, project: Project) -> JsonValue:
    known = project.domain.choices if project.domain is not None else {}
    return [
        {"slot": slot, "type": type_of(slot, project.domain), "choices": list(known.get(slot, ()))}
        for slot in made.values
    ]


def _others(made: Matter, project: Project) -> JsonValue:
    others = [flow for flow in project.flows.values() if flow.id != made.flow.id and flow.is_for_people]
    first = [made.partner] if made.partner is not None else []
    return [{"name": flow.words, "description": flow.description} for flow in [*first, *others][:_MOST_OTHERS]]


def _brief(made: Matter) -> str:
    """What this kind is, in words of ours alone: slots are named by what the domain calls them."""
    return {
        "happy_path": "The user wants what the flow does, tells what they are asked for, and gets it.",
        "correction": f"The user first gives a wrong value for one slot (`{_safe(made.mistaken)}`) and corrects it "
        + (
            "in the same message."
            if made.mistaken and made.in_one_breath
            else "when they are asked for the next thing."
        ),
        "cancellation": "The user begins, and calls it off when they are asked for the last thing on this way. "
        "They do not begin again.",
        "clarification": "The user's first words fit this flow and the first of the other flows equally well. "
        "They want this one, and say so only when they are asked. Give the words that they begin with.",
        "out_of_scope": "The user wants something near to this flow that neither it nor any other flow does. They "
        "insist once, then accept that it is not to be had. They give no values.",
        "impatient": "The user is in a hurry, says all they know at once, writes curtly, and gets angry when they are "
        "asked for what they have said.",
    }[made.kind]


def _json(value: JsonValue) -> str:
    """On one line, whatever is in it."""
    return json.dumps(value)


def _safe(slot: str) -> str:
    return "".join(sign for sign in slot_words(slot) if sign.isalnum() or sign == " ")
