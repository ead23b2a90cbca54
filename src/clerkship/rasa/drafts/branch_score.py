"""Score the steps and branches of a flow: a path on which the user gets what they want has the highest score."""

import re
from typing import NamedTuple

from clerkship.rasa import names
from clerkship.rasa.drafts.conditions import Requirement, find_values
from clerkship.rasa.flow import Flow, FlowEdge, FlowStep

RESPONSE_PREFIX = "utter_"
_FAILED_RESPONSE = re.compile(
    r"error|fail|sorry|invalid|reject|den(y|ied)|declin|insufficient|unavailable|wrong|bad|cannot|cant|unable|unknown"
    r"|abort|cancel|missing|expired|exceed|too_|(^|_)not?_|left_as|handoff|human|pending|retry|try_again|already"
    r"|nothing|unchanged|ineligible|forbidden|time_?out|unsuccessful|unsupported"
)
_FAILED_ACTION = re.compile(r"fail|error|reject|den(y|ied)|declin|abort|cancel|handoff|human|escalat|fallback")
_FAILED_STATE = re.compile(
    r"error|fail|invalid|reject|den(y|ied)|declin|insufficient|unavailable|wrong|abort|cancel|missing|expired|exceed"
    r"|blocked|locked|closed|(^|_)not?_|^none_"
)
_MIN_WORD_LENGTH = 4


class PathScore(NamedTuple):
    """The score of a path; the higher, the better. What turns the user away counts first."""

    failures: int = 0
    """Steps and conditions that mean failure, negative."""
    denials: int = 0
    """Conditions that a yes/no slot is false, negative."""
    work: int = 0
    """Questions and actions."""
    responses: int = 0

    def plus(self, other: "PathScore") -> "PathScore":
        """Return the sum of two scores."""
        return PathScore(*(left + right for left, right in zip(self, other, strict=True)))


def list_requirements(edge: FlowEdge) -> list[Requirement]:
    """Return what must hold for a branch to be taken: its condition, and that earlier branches are not."""
    own = [Requirement(edge.condition)] if edge.condition is not None else []
    return [*own, *(Requirement(text, expected=False) for text in edge.unless)]


def score_edge(edge: FlowEdge, flow: Flow) -> PathScore:
    """Return the score of the conditions of a branch."""
    fixed = {slot: value for one in list_requirements(edge) for slot, value in find_values(one).items()}
    failures = denials = 0
    for slot, value in fixed.items():
        is_bad_name = bool(_FAILED_STATE.search(_without_own_words(slot, flow)))
        if isinstance(value, bool):
            failures += is_bad_name and value
            denials += not is_bad_name and not value
        elif isinstance(value, str):
            failures += bool(_FAILED_STATE.search(_without_own_words(value.lower().replace(" ", "_"), flow)))
    return PathScore(-failures, -denials)


def score_step(step: FlowStep, flow: Flow) -> PathScore:
    """Return the score of a step."""
    if step.target in names.BUILT_IN_ACTIONS:  # built-in actions, such as cancel and restart
        return PathScore(failures=-1)
    if step.kind == "link" or is_response(step):
        is_failed = _FAILED_RESPONSE.search(_without_own_words(step.target.removeprefix(RESPONSE_PREFIX), flow))
        return PathScore(failures=-1) if is_failed else PathScore(responses=1)
    if step.kind == "action":
        is_failed = _FAILED_ACTION.search(_without_own_words(step.target, flow))
        return PathScore(failures=-1 if is_failed else 0, work=1)
    return PathScore(work=0 if step.kind in ("noop", "set_slots") else 1)


def is_response(step: FlowStep) -> bool:
    """Return whether a step only says something."""
    return step.kind == "action" and step.target.startswith(RESPONSE_PREFIX)


def _without_own_words(name: str, flow: Flow) -> str:
    """Return a name without the words of its flow: in a flow that cancels an order, `cancelled` is a success."""
    own = {word for word in re.split(r"[\W_]+", f"{flow.id} {flow.name}".lower()) if len(word) >= _MIN_WORD_LENGTH}
    parts = [part for part in re.split(r"[\W_]+", name.lower()) if part]
    left = [part for part in parts if not any(part.startswith(word) or word.startswith(part) for word in own)]
    return "_".join([*left, ""])
