"""What a draft of each kind is made of, by rules alone: who the person is, what must come of it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

from pydantic import JsonValue

from clerkship.model.domain import Domain, misfit
from clerkship.rasa import names
from clerkship.rasa.drafts.path import Way, implied, way_through
from clerkship.rasa.drafts.values import samples, type_of
from clerkship.rasa.flow import Flow

Kind = Literal["happy_path", "correction", "cancellation", "clarification", "out_of_scope", "impatient"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TITLES: dict[Kind, str] = {
    "happy_path": "all goes well",
    "correction": "the user corrects what they said",
    "cancellation": "the user calls it off",
    "clarification": "the user could mean two things",
    "out_of_scope": "the user wants something it does not do",
    "impatient": "the user is in a hurry",
}
_COMMON = {
    "id",
    "ids",
    "say",
    "says",
    "find",
    "get",
    "gets",
    "give",
    "let",
    "lets",
    "out",
    "number",
    "confirmed",
    "confirmation",
}
_COMMON |= {
    "the",
    "a",
    "an",
    "of",
    "to",
    "for",
    "and",
    "or",
    "if",
    "it",
    "is",
    "in",
    "on",
    "by",
    "with",
    "this",
    "that",
    "not",
}
_COMMON |= {
    "user",
    "users",
    "flow",
    "their",
    "your",
    "my",
    "how",
    "why",
    "what",
    "which",
    "where",
    "while",
    "has",
    "have",
    "from",
}


@dataclass(frozen=True)
class Project:
    """All flows, and the domain they stand in."""

    flows: Mapping[str, Flow]
    domain: Domain | None

    @cached_property
    def words(self) -> dict[str, set[str]]:
        """What each flow that people may start is about."""
        return {flow.id: _words(flow) for flow in self.flows.values() if flow.is_for_people}

    def knows(self, slot: str) -> bool:
        """Whether the domain has it; nothing is held against one that is not known."""
        return self.domain is None or slot in self.domain.slots or slot in names.SLOTS


@dataclass(frozen=True)
class Matter:
    """What a draft is about: the flow, the way through it, and what is said on it."""

    flow: Flow
    kind: Kind
    way: Way
    values: dict[str, JsonValue]
    """What the person tells, by slot."""
    mistaken: str = ""
    """The slot that they get wrong at first."""
    wrong: JsonValue = None
    partner: Flow | None = None
    """The flow that they could have meant as well."""
    setup: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def asked_last(self) -> str:
        """The slot at which somebody still can call it off."""
        own = self.way.own(self.flow.id, "collect")
        return own[-1] if own else self.way.collected[-1].name

    @property
    def in_one_breath(self) -> bool:
        """Whether nothing is asked after the slot that is corrected."""
        return self.way.collected[-1].name == self.mistaken


@dataclass(frozen=True)
class Draft:
    """What a person is to edit: what it is called, who they talk to, and what is asked of the agent."""

    name: str
    context: str
    criteria: Sequence[str]
    note: str = ""
    """Why it is not as it was wanted."""
    by: str = ""
    """The model that wrote it; empty where rules did."""


Skipped = str


def matter(flow: Flow, kind: Kind, project: Project) -> Matter | Skipped:
    """What the draft is about, or why there is none of this kind."""
    way = way_through(flow, project.flows)
    asked = [move.name for move in way.collected]
    values = {slot: _value(slot, way, project) for slot in asked} if kind != "out_of_scope" else {}
    setup = {
        slot: value
        for slot, value in implied(flow.guard or "").items()
        if project.knows(slot) and not misfit(value, type_of(slot, project.domain))
    }
    made = Matter(flow, kind, way, values, setup=setup)
    if kind == "cancellation" and asked:
        values.pop(made.asked_last)  # what is asked then is not answered
    if kind in ("correction", "cancellation") and not asked:
        return "it asks for nothing"
    if kind == "correction":
        return _corrected(made, project)
    if kind == "clarification":
        return _ambiguous(made, project)
    return made


def _value(slot: str, way: Way, project: Project) -> JsonValue:
    wanted = way.implied.get(slot)
    fits = wanted is not None and not misfit(wanted, type_of(slot, project.domain))
    return wanted if fits else samples(slot, project.domain).right


def _corrected(made: Matter, project: Project) -> Matter | Skipped:
    """The first slot that has another value: yes or no decides where the flow goes, and is left alone."""
    for slot, value in made.values.items():
        other = next((one for one in samples(slot, project.domain) if one != value), value)
        if not isinstance(value, bool) and other != value and slot not in made.way.implied:
            return replace(made, mistaken=slot, wrong=other)
    return "it asks for nothing that could be corrected on the same way"


def _ambiguous(made: Matter, project: Project) -> Matter | Skipped:
    """The flow that has most in common with this one."""
    own = _words(made.flow)
    alike = {other: len(own & words) for other, words in project.words.items() if other != made.flow.id}
    partner = max(alike, key=lambda other: alike[other], default="")
    if not alike.get(partner):
        return "no other flow is like it" if alike else "there is no other flow"
    return replace(made, partner=project.flows[partner])


def _words(flow: Flow) -> set[str]:
    text = f"{flow.id} {flow.name} {flow.description} {' '.join(s.about for s in flow.steps if s.deed == 'collect')}"
    return {word.rstrip("s") for word in re.findall(r"[^\W_]+", text.lower()) if word not in _COMMON and len(word) > 1}


def skeleton(made: Matter) -> Draft:
    """The draft that rules make."""
    told = _TELLERS[made.kind](made)
    lines = [f"You are a user of this assistant. What you want: {made.flow.words}."]
    if made.kind == "out_of_scope":
        lines = []
    elif made.flow.description:
        lines.append(f"The assistant says of it: {made.flow.description}")
    if made.values:
        lines += ["", "You know this, and tell it when you are asked:"]
        lines += [f"- {slot_words(slot)}: {spoken(value)}" for slot, value in made.values.items()]
    return Draft(
        f"{made.flow.words}: {TITLES[made.kind]}"[:200],
        "\n".join([*lines, "", *told]).strip(),
        _CRITERIA[made.kind](made),
    )


def slot_words(slot: str) -> str:
    """A slot's name as people say it."""
    return slot.replace("_", " ").replace("-", " ").strip() or slot


def spoken(value: JsonValue) -> str:
    """A value as people say it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(spoken, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _well(made: Matter) -> list[str]:
    return ["You are friendly, and answer what you are asked. Once you have what you want, you say goodbye."]


def _correct(made: Matter) -> list[str]:
    slot, right, wrong = slot_words(made.mistaken), spoken(made.values[made.mistaken]), spoken(made.wrong)
    if made.in_one_breath:
        return [f"You make a mistake with the {slot}: you say {wrong}, and in the same message that {right} is right."]
    return [
        f"You make a mistake with the {slot}: at first you say {wrong}.",
        f"When the assistant asks you for the next thing, you notice it, and say that {right} is right.",
        "After that you answer what you are asked.",
    ]


def _call_off(made: Matter) -> list[str]:
    return [
        f"You answer until you are asked for this: {slot_words(made.asked_last)}. Then you change your mind:",
        "you do not answer, but say that you want to stop. You do not begin again, and say goodbye.",
    ]


def _could_mean(made: Matter) -> list[str]:
    other = made.partner.words if made.partner is not None else ""
    return [
        f"You begin with a few words that could mean two things: {made.flow.words}, or {other}.",
        "You do not say which before you are asked. If you are asked, you want the first.",
    ]


def _beyond(made: Matter) -> list[str]:
    return [
        "You are a user of this assistant, and want something that it does not do: you want to know whether it will",
        "rain on Saturday. You ask, and ask once more in other words. If you are told twice that it cannot help you",
        "with that, you accept it and say goodbye. You ask for nothing else.",
    ]


def _hurry(made: Matter) -> list[str]:
    return [
        "You are in a hurry. You put all that you know into your first message. Your messages are short, without",
        "greetings. If you are asked for something that you have said already, you get angry and say so. Once you have",
        "what you want, you leave without thanks.",
    ]


def _good_end(made: Matter) -> list[str]:
    return [
        f"The agent tells the user plainly what came of it: {made.flow.words}",
        "The agent does not ask for anything that the user has already said",
    ]


def _good_correction(made: Matter) -> list[str]:
    slot, right, wrong = slot_words(made.mistaken), spoken(made.values[made.mistaken]), spoken(made.wrong)
    return [
        f"After the correction the agent goes on with the {slot} {right}, and not with {wrong}",
        "The agent does not make the user begin again because of the correction",
    ]


def _good_stop(made: Matter) -> list[str]:
    return [
        "The agent confirms that it has stopped, and does not claim to have done what was called off",
        "The agent does not press the user to go on",
    ]


def _good_question(made: Matter) -> list[str]:
    other = made.partner.words if made.partner is not None else ""
    return [
        f"The agent asks which of the two the user means ({made.flow.words}, or {other}) before it does either",
        "The agent puts the choice in words that a user understands",
    ]


def _good_no(made: Matter) -> list[str]:
    return [
        "The agent says plainly that it cannot help with that",
        "The agent makes nothing up: it gives no answer to the question, and promises none",
        "The agent says what it can help with instead",
    ]


def _good_manners(made: Matter) -> list[str]:
    return [
        "The agent does not ask for anything that the user has already said",
        "The agent stays polite and brief, and does not take over the user's tone",
    ]


_TELLERS: dict[Kind, Callable[[Matter], list[str]]] = {
    "happy_path": _well,
    "correction": _correct,
    "cancellation": _call_off,
    "clarification": _could_mean,
    "out_of_scope": _beyond,
    "impatient": _hurry,
}
_CRITERIA: dict[Kind, Callable[[Matter], list[str]]] = {
    "happy_path": _good_end,
    "correction": _good_correction,
    "cancellation": _good_stop,
    "clarification": _good_question,
    "out_of_scope": _good_no,
    "impatient": _good_manners,
}
