"""Check what a CDS service returns, and keep what an EHR can show.

A card that breaks a rule is dropped with the reason, and the others are kept. Problems that leave a card usable, such
as an unknown field, are reported and the card is kept.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from clerkship.formats.cds_hooks.card import Card, CardLink, CardSource, SuggestedAction, Suggestion
from clerkship.formats.cds_hooks.hooks import HOOK_NAMES
from clerkship.formats.cds_hooks.patient import find_patients
from clerkship.formats.cds_hooks.prefetch import MAX_TEMPLATES, find_template_problem
from clerkship.formats.cds_hooks.wire_model import CdsCoding, CdsService, WireModel
from clerkship.kit.depth import MAX_DEPTH, is_deeper_than
from clerkship.model.frozen import Flag, Frozen

MAX_CARDS = 100
"""Cards of one response that are kept."""
MAX_SYSTEM_ACTIONS = 100
MAX_SERVICES = 200
"""Services of one agent that are kept."""
MAX_SERVICE_ID = 200
MAX_PROBLEMS = 100
"""Problems of one response that are reported: so many of those that drop something, and so many others."""
MAX_QUOTED = 60
M = TypeVar("M", bound=WireModel)

RULES: Final[dict[str, str]] = {
    "json": "The body is JSON, nested at most 64 levels deep.",
    "type": "A value has the type that the specification says.",
    "required": "Required fields are there: `cards`, `summary`, `indicator`, `source.label`, labels and types.",
    "value": "A code is one of those allowed: `indicator`, `selectionBehavior`, types of actions and links.",
    "summary-length": "A summary has fewer than 140 characters.",
    "empty-value": "A field is not null and not empty; it is left out instead. The card is kept.",
    "unknown-field": "Fields that the specification does not define are under `extension`. The card is kept.",
    "url": "URLs are absolute, with http or https.",
    "detail-html": "`detail` is GitHub Flavored Markdown without scripts. The card is kept.",
    "selection-behavior": "`selectionBehavior` is there if there are suggestions.",
    "recommended": "At most one suggestion is recommended if at most one may be selected. The card is kept.",
    "override-reasons": "Each override reason has a `display`.",
    "link-context": "`appContext` is only on links of type `smart`.",
    "action-description": "Each action of a suggestion has a description.",
    "action-resource": "A create has a resource, an update a resource with an id, a delete a `resourceId`.",
    "action-patient": "The resource of an action belongs to the patient of the hook.",
    "unique-uuid": "The uuid of a card or suggestion occurs once.",
    "count": "There are at most 100 cards and 100 system actions.",
    "service-id": "The id of a service is unique, and can be part of a URL.",
    "hook": "The hook is one that this EHR fires.",
    "prefetch": "A prefetch template is a read or a search of one type, with tokens of the hook. The service is kept.",
}
"""The rules that are checked, by name, for problems and for the documentation."""
_ERROR_RULES = {
    "missing": "required",
    "literal_error": "value",
    "string_too_long": "summary-length",
    "string_too_short": "required",
}
_NESTED: dict[type[WireModel], dict[str, type[WireModel]]] = {
    Card: {"source": CardSource, "suggestions": Suggestion, "overrideReasons": CdsCoding, "links": CardLink},
    CardSource: {"topic": CdsCoding},
    Suggestion: {"actions": SuggestedAction},
}
_SCRIPT_MARKS = ("<script", "<iframe", "javascript:", "<object", "<embed")


class CdsProblem(Frozen):
    """One broken rule: where, which, and what was expected."""

    path: str
    """The place in the JSON, such as `cards[0].source.label`; empty for the whole."""
    rule: str
    """One of RULES."""
    message: str
    dropped: Flag = False
    """Whether the card, action or service was dropped because of it."""


class ValidatedResponse(NamedTuple):
    """What an EHR uses of a response, and what is wrong with it."""

    cards: tuple[Card, ...]
    system_actions: tuple[SuggestedAction, ...]
    problems: tuple[CdsProblem, ...]
    is_readable: bool = True
    """Whether it is a JSON object with a list of cards."""


class ValidatedDiscovery(NamedTuple):
    """The services of an agent that an EHR can call, and what is wrong with the others."""

    services: tuple[CdsService, ...]
    problems: tuple[CdsProblem, ...]
    is_readable: bool = True


class _Unreadable(Exception):
    def __init__(self, problem: CdsProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def validate_response(data: object, patient_id: str | None = None) -> ValidatedResponse:
    """Check the answer of a service: JSON as bytes, or data already parsed.

    With the patient of the hook, cards and actions that change another patient's resources are dropped too.
    """
    try:
        response = _read_object(data, "cards")
    except _Unreadable as error:
        return ValidatedResponse((), (), (error.problem,), is_readable=False)
    checker = _Checker(patient_id)
    checker.note_unknown(response, {"cards", "systemActions", "extension"}, "")
    cards = tuple(checker.check_cards(response["cards"]))
    actions = tuple(checker.check_actions(response.get("systemActions")))
    return ValidatedResponse(cards, actions, tuple(checker.problems))


def validate_discovery(data: object) -> ValidatedDiscovery:
    """Check the answer of a discovery endpoint: JSON as bytes, or data already parsed."""
    try:
        response = _read_object(data, "services")
    except _Unreadable as error:
        return ValidatedDiscovery((), (error.problem,), is_readable=False)
    checker = _Checker(None)
    services = tuple(checker.check_services(response["services"]))
    return ValidatedDiscovery(services, tuple(checker.problems))


def _read_object(data: object, name: str) -> dict[str, Any]:
    """Return the JSON object, which has a list under `name`; raise _Unreadable."""
    if isinstance(data, bytes):
        try:
            data = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise _Unreadable(CdsProblem(path="", rule="json", message=f"not JSON: {str(error)[:200]}")) from None
    if is_deeper_than(data):
        raise _Unreadable(CdsProblem(path="", rule="json", message=f"nested deeper than {MAX_DEPTH} levels"))
    if not isinstance(data, dict):
        raise _Unreadable(CdsProblem(path="", rule="type", message=f'expected an object: {{"{name}": […]}}'))
    if name not in data:
        raise _Unreadable(CdsProblem(path=name, rule="required", message=f"{name} is required; it may be empty: []"))
    if not isinstance(data[name], list):
        raise _Unreadable(CdsProblem(path=name, rule="type", message="expected a list"))
    return data


class _Checker:
    """Checks one response, and collects its problems."""

    def __init__(self, patient_id: str | None) -> None:
        self.patient_id = patient_id
        self.problems: list[CdsProblem] = []
        self._uuids: set[str] = set()
        self._counts = {True: 0, False: 0}
        """How many problems dropped something, and how many did not."""

    def note(self, path: str, rule: str, message: str, *, dropped: bool = False) -> None:
        """Report a problem, unless there are too many of its sort: harmless ones must not hide a dropped card."""
        self._counts[dropped] += 1
        if self._counts[dropped] <= MAX_PROBLEMS:
            self.problems.append(CdsProblem(path=path, rule=rule, message=message, dropped=dropped))

    def note_unknown(self, data: Mapping[str, Any], known: set[str], path: str) -> None:
        """Report fields that the specification does not define."""
        for name in data:
            if name not in known:
                where = f"{path}.{name[:MAX_QUOTED]}".lstrip(".")
                self.note(where, "unknown-field", "not a field of CDS Hooks 2.0; use extension")

    def check_cards(self, cards: list[Any]) -> Iterator[Card]:
        """Yield the cards that break no rule."""
        for path, data in self._take(cards, MAX_CARDS, "cards", "cards", "shown"):
            card = self._parse(Card, data, path)
            if card is not None and self._is_usable(card, path):
                yield card

    def check_actions(self, actions: object) -> Iterator[SuggestedAction]:
        """Yield the system actions that break no rule."""
        if actions is None:
            return
        if not isinstance(actions, list):
            self.note("systemActions", "type", "expected a list", dropped=True)
            return
        for path, data in self._take(actions, MAX_SYSTEM_ACTIONS, "systemActions", "system actions", "applied"):
            action = self._parse(SuggestedAction, data, path)
            if action is not None and self._has_own_patient(action, path):
                yield action

    def check_services(self, services: list[Any]) -> Iterator[CdsService]:
        """Yield the services that an EHR can call."""
        for path, data in self._take(services, MAX_SERVICES, "services", "services", "called"):
            service = self._parse(CdsService, data, path)
            if service is not None and self._is_callable(service, path):
                yield service

    def _take(self, items: list[Any], limit: int, field: str, noun: str, use: str) -> Iterator[tuple[str, Any]]:
        """Yield the path and the data of the first items; report that there are more than the limit."""
        if len(items) > limit:
            message = f"{len(items)} {noun}; those after the first {limit} are not {use}"
            self.note(f"{field}[{limit}]", "count", message, dropped=True)
        for number, data in enumerate(items[:limit]):
            yield f"{field}[{number}]", data

    def _is_callable(self, service: CdsService, path: str) -> bool:
        if service.id in self._uuids:
            self.note(f"{path}.id", "service-id", f"the id {service.id[:MAX_QUOTED]} occurs twice", dropped=True)
            return False
        if len(service.id) > MAX_SERVICE_ID or not service.id.isprintable() or not service.id.strip(". "):
            message = f"expected at most {MAX_SERVICE_ID} printable characters, not only dots"
            self.note(f"{path}.id", "service-id", message, dropped=True)
            return False
        if service.hook not in HOOK_NAMES:
            message = f"unknown hook {service.hook[:MAX_QUOTED]} (expected: {', '.join(HOOK_NAMES)})"
            self.note(f"{path}.hook", "hook", message, dropped=True)
            return False
        self._uuids.add(service.id)
        if len(service.prefetch) > MAX_TEMPLATES:
            message = f"{len(service.prefetch)} templates; those after the first {MAX_TEMPLATES} are not answered"
            self.note(f"{path}.prefetch", "count", message)
        for key, template in list(service.prefetch.items())[:MAX_TEMPLATES]:
            if problem := find_template_problem(template, service.hook):
                self.note(f"{path}.prefetch.{key[:MAX_QUOTED]}", "prefetch", problem)
        return True

    def _parse(self, model: type[M], data: object, path: str) -> M | None:
        """Return the object; report why it is dropped and return None if it breaks a rule."""
        try:
            return model.model_validate(self._strip(model, data, path))
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_input=False)[:MAX_PROBLEMS]:
                where = path + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])
                rule = detail["type"] if detail["type"] in RULES else _ERROR_RULES.get(detail["type"], "type")
                self.note(where, rule, detail["msg"], dropped=True)
            return None

    def _strip(self, model: type[WireModel], data: object, path: str) -> object:
        """Return the data without empty and unknown fields, which are reported."""
        if not isinstance(data, dict):
            return data
        nested, known = _NESTED.get(model, {}), _list_names(model)
        self.note_unknown(data, known, path)
        stripped: dict[str, Any] = {}
        for name, value in data.items():
            if name not in known:
                continue
            if value is None or value in ([], {}):
                self.note(f"{path}.{name}", "empty-value", "null and empty values are not allowed; leave the field out")
            elif name in nested and isinstance(value, list):
                items = enumerate(value)
                stripped[name] = [self._strip(nested[name], item, f"{path}.{name}[{number}]") for number, item in items]
            else:
                stripped[name] = self._strip(nested[name], value, f"{path}.{name}") if name in nested else value
        return stripped

    def _is_usable(self, card: Card, path: str) -> bool:
        """Check the rules that the model of a card does not have."""
        if card.detail is not None and any(mark in card.detail.lower() for mark in _SCRIPT_MARKS):
            self.note(f"{path}.detail", "detail-html", "scripts and frames are removed before the text is shown")
        recommended = [suggestion for suggestion in card.suggestions if suggestion.is_recommended]
        if len(recommended) > 1 and card.selection_behavior == "at-most-one":
            self.note(
                f"{path}.suggestions", "recommended", f"{len(recommended)} are recommended, and one can be chosen"
            )
        uuids = [uuid for uuid in (card.uuid, *(each.uuid for each in card.suggestions)) if uuid is not None]
        if len(set(uuids)) < len(uuids) or self._uuids.intersection(uuids):
            self.note(f"{path}.uuid", "unique-uuid", "a uuid of this card occurs twice", dropped=True)
            return False
        for number, suggestion in enumerate(card.suggestions):
            for index, action in enumerate(suggestion.actions):
                if not self._has_own_patient(action, f"{path}.suggestions[{number}].actions[{index}]"):
                    return False
        self._uuids.update(uuids)
        return True

    def _has_own_patient(self, action: SuggestedAction, path: str) -> bool:
        others = find_patients(action.resource or {}) - {self.patient_id}
        if self.patient_id is None or not others:
            return True
        message = f"the resource belongs to Patient/{min(others)[:MAX_QUOTED]}, the hook to Patient/{self.patient_id}"
        self.note(f"{path}.resource", "action-patient", message, dropped=True)
        return False


def _list_names(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}
