"""Decisions on authorization requests, by the rules of the config and of the scenario."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from clerkship.model.matcher import matches_expected
from clerkship.model.path import MISSING
from clerkship.payer.answer import AuthorizationStatus, ClinicalQuestion, Member
from clerkship.payer.code_pattern import matches_any_code
from clerkship.payer.determination_rule import AuthorizationRule, Determination, RequestMatch
from clerkship.payer.inquiry import AuthorizationQuery, RequestedService, ReviewType, ServiceType
from clerkship.payer.plan import find_service_type

Answers = Mapping[str, str | bool | float]
_TRUE, _FALSE = frozenset({"yes", "y", "true", "1"}), frozenset({"no", "n", "false", "0"})


def needs_authorization(
    rules: Iterable[AuthorizationRule], plan: str, review: ReviewType, service_type: ServiceType, procedure_code: str
) -> bool:
    """Return whether a service needs an authorization: as the first rule that matches says, else not."""
    for rule in rules:
        codes = rule.procedure_codes is None or (
            bool(procedure_code) and matches_any_code(rule.procedure_codes, (procedure_code,))
        )
        types = rule.service_types is None or service_type in rule.service_types
        reviews = rule.reviews is None or review in rule.reviews
        plans = rule.plans is None or matches_any_code(rule.plans, (plan,))
        if codes and types and reviews and plans:
            return rule.required
    return False


class ServiceContext(NamedTuple):
    """One service of a request, with what rules match on. A request without services has one context without it."""

    query: AuthorizationQuery
    member: Member
    plan: str
    service: RequestedService | None
    answers: Answers

    @property
    def procedure_code(self) -> str:
        """The code of the service; empty if the request has no services."""
        return self.service.procedure_code if self.service else ""

    @property
    def service_type(self) -> ServiceType:
        """The type of the service: that of its code, or else that of the request."""
        if self.service is None:
            return self.query.service_type or ("hospital" if self.query.review == "admission" else "medical")
        service_type = find_service_type(self.service.procedure_code)
        return service_type if service_type != "medical" or self.query.service_type is None else self.query.service_type

    @property
    def quantity(self) -> float:
        """The requested quantity."""
        return float(self.service.quantity) if self.service else 1.0


def matches_request(match: RequestMatch, context: ServiceContext) -> bool:
    """Return whether a service is one of those that a rule selects."""
    query, service = context.query, context.service
    performer = (service.performer_id if service else None) or query.provider_id
    place = (service.place if service else None) or query.place or ""
    pairs: Sequence[tuple[tuple[str, ...] | None, Sequence[str]]] = (
        (match.procedure_code, (context.procedure_code,) if service else ()),
        (match.diagnosis, query.diagnoses),
        (match.member_id, (context.member.member_id,)),
        (match.payer, (query.payer_id,)),
        (match.plan, (context.plan,)),
        (match.place, (place,)),
        (match.performer, (performer,)),
    )
    if not all(patterns is None or matches_any_code(patterns, values) for patterns, values in pairs):
        return False
    types = (match.service_type,) if isinstance(match.service_type, str) else match.service_type
    flags = (
        (match.urgent, query.is_urgent),
        (match.attachments, bool(query.attachments)),
        (match.review, query.review),
    )
    return (
        (types is None or context.service_type in types)
        and all(wanted is None or wanted == actual for wanted, actual in flags)
        and (match.units_over is None or context.quantity > match.units_over)
        and all(matches_expected(expected, context.answers.get(id, MISSING)) for id, expected in match.answers.items())
    )


class Decision(NamedTuple):
    """The rule that decides a service, and what it still asks."""

    rule: Determination
    open_questions: tuple[ClinicalQuestion, ...] = ()
    delay: timedelta = timedelta()

    @property
    def status(self) -> AuthorizationStatus:
        return self.rule.status


def decide_service(
    rules: Sequence[Determination], default: Determination, context: ServiceContext, *, is_due: bool
) -> Decision:
    """Find the rule that decides a service.

    A rule whose questions are all answered leads to its `then`; so does a pending one once it `is_due`. The delays of
    the rules on the way add up.
    """
    delay = timedelta()
    while True:
        rule = next((rule for rule in rules if matches_request(rule.match, context)), default)
        delay += rule.delay
        if rule.status == "need_more_info":
            answers = read_answers(rule.questions, context.answers)
            missing = find_open_questions(rule.questions, answers, context.query)
            has_reply = bool(rule.questions) or bool(context.query.attachments)
            if missing or not has_reply or not rule.then:
                return Decision(rule, missing, delay)
            context = context._replace(answers=answers)
        elif rule.status != "pending" or not rule.then or not is_due:
            return Decision(rule, (), delay)
        rules = rule.then


def find_open_questions(
    questions: Sequence[ClinicalQuestion], answers: Answers, query: AuthorizationQuery
) -> tuple[ClinicalQuestion, ...]:
    """Return the questions without a usable answer. Any document answers a question of type `attachment`."""
    return tuple(
        question
        for question in questions
        if question.id not in answers and not (question.type == "attachment" and query.attachments)
    )


def read_answers(questions: Sequence[ClinicalQuestion], answers: Answers) -> dict[str, str | bool | float]:
    """Return the answers as the questions define their types; an answer of another type is left out.

    Protocols without types send `yes` and `6` as texts. X12 may have capital letters only, and no `_`.
    """
    typed: dict[str, str | bool | float] = dict(answers)
    ids = {_simplify_id(id): id for id in answers}
    for question in questions:
        given = question.id if question.id in answers else ids.get(_simplify_id(question.id))
        if given is not None:
            value = read_answer(question.type, question.choices, answers[given])
            typed.pop(given, None)
            if value is not None:
                typed[question.id] = value
    return typed


def _simplify_id(id: str) -> str:
    return id.lower().replace("-", "_")


def read_answer(type: str, choices: Sequence[str], value: str | bool | float) -> str | bool | float | None:
    """Return an answer as the type of its question defines it; None if it is of another type, or no choice."""
    text = str(value).strip()
    if type == "boolean":
        lowered = text.lower()
        return True if lowered in _TRUE else False if lowered in _FALSE else None
    if type == "number":
        return _read_number(value)
    if type == "choice":
        return next((choice for choice in choices if choice.lower() == text.lower()), None)
    return text or None


def _read_number(value: str | bool | float) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
