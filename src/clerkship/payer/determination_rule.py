"""Rules for authorizations, claims and appeals, as the config writes them."""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from clerkship.model.duration import Duration
from clerkship.model.frozen import Flag, Frozen
from clerkship.model.matcher import check_expected
from clerkship.payer.answer import ClinicalQuestion
from clerkship.payer.code_pattern import CodePatterns
from clerkship.payer.inquiry import ReviewType, ServiceType
from clerkship.payer.name_sorts import MEMBER_ID, PAYER, PLAN
from clerkship.payer.plan import Amount, Dollars


def _check_answers(answers: dict[str, JsonValue]) -> dict[str, JsonValue]:
    for expected in answers.values():
        check_expected(expected)
    return answers


def _list_service_types(value: tuple[ServiceType, ...]) -> tuple[ServiceType, ...]:
    if not value:
        raise ValueError("an empty list matches nothing")
    return value


class RequestMatch(Frozen):
    """Selects the services of authorization requests. All keys that are given must match."""

    procedure_code: Annotated[
        CodePatterns | None, Field(description="a code, `721*`, a range such as 72141-72158, or a list of these")
    ] = None
    service_type: Annotated[ServiceType | tuple[ServiceType, ...] | None, Field(description="one or several types")] = (
        None
    )
    diagnosis: Annotated[CodePatterns | None, Field(description="ICD-10 codes, of which the request has one")] = None
    member_id: Annotated[CodePatterns | None, MEMBER_ID, Field(description="ids of members")] = None
    payer: Annotated[CodePatterns | None, PAYER, Field(description="numbers of payers")] = None
    plan: Annotated[CodePatterns | None, PLAN, Field(description="ids of plans")] = None
    place: Annotated[CodePatterns | None, Field(description="place of service codes: the site of service")] = None
    performer: Annotated[
        CodePatterns | None, Field(description="NPIs of the performing, or else the asking, provider")
    ] = None
    review: Annotated[ReviewType | None, Field(description="what is requested")] = None
    urgent: Annotated[Flag | None, Field(description="whether the request is urgent")] = None
    units_over: Annotated[Amount | None, Field(description="the quantity is larger than this number")] = None
    attachments: Annotated[Flag | None, Field(description="whether documents were sent with the request")] = None
    answers: Annotated[
        dict[str, JsonValue],
        AfterValidator(_check_answers),
        Field(description="answers to clinical questions by the id of the question: values or matchers"),
    ] = {}


class Determination(Frozen):
    """A decision on services of authorization requests that match."""

    match: Annotated[RequestMatch, Field(description="which services; all if not given")] = RequestMatch()
    status: Annotated[
        Literal["approved", "modified", "denied", "pending", "need_more_info"], Field(description="the decision")
    ]
    reason: Annotated[str, Field(description="a code of the payer, such as not_medically_necessary")] = ""
    text: Annotated[str, Field(description="an explanation for people")] = ""
    units: Annotated[Amount | None, Field(description="the approved quantity; by default the requested one")] = None
    number: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Z0-9][A-Z0-9-]{0,49}$",
            description="the authorization number of an approval, unless another has it; by default a new one",
        ),
    ] = None
    validity: Annotated[
        Duration | None, Field(description="how long an approval is valid, in days; by default 90d")
    ] = None
    delay: Annotated[Duration, Field(description="simulated time until the decision; until then it is pending")] = (
        timedelta()
    )
    questions: Annotated[tuple[ClinicalQuestion, ...], Field(description="what is asked, with `need_more_info`")] = ()
    then: Annotated[
        tuple["Determination", ...],
        Field(
            description="once all questions are answered, or a pending request is due: the first that matches decides"
        ),
    ] = ()

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        if self.questions and self.status != "need_more_info":
            raise ValueError("`questions` go with `status: need_more_info`")
        if self.then and self.status not in ("need_more_info", "pending"):
            raise ValueError("`then` goes with `status: need_more_info` or `pending`")
        if self.status == "pending" and bool(self.then) != bool(self.delay):
            raise ValueError("`pending` has both `delay` and `then`, or neither if a step of the scenario decides")
        if self.status == "need_more_info" and not (self.questions or self.text):
            raise ValueError("`need_more_info` needs `questions`, or a `text` that says what to send")
        if self.number and self.status not in ("approved", "modified"):
            raise ValueError("`number` goes with `status: approved` or `modified`")
        if self.status == "modified" and self.units is None and self.validity is None:
            raise ValueError("`modified` needs `units` or `validity`: it says what differs from the request")
        return self


class AuthorizationRule(Frozen):
    """Whether services need an authorization. The first rule that matches applies; if none does, they need none."""

    procedure_codes: Annotated[CodePatterns | None, Field(description="codes, patterns such as 721*, or ranges")] = None
    service_types: Annotated[
        tuple[ServiceType, ...] | None,
        AfterValidator(lambda value: value and _list_service_types(value)),
        Field(description="service types"),
    ] = None
    reviews: Annotated[tuple[ReviewType, ...] | None, Field(description="what is requested")] = None
    plans: Annotated[CodePatterns | None, Field(description="ids of plans; all if not given")] = None
    required: Annotated[Flag, Field(description="false for an exception before a wider rule")] = True


class ClaimRule(Frozen):
    """The status of claims of the dataset. The first rule that matches applies."""

    procedure_code: Annotated[CodePatterns | None, Field(description="codes, of which the claim has one")] = None
    diagnosis: Annotated[CodePatterns | None, Field(description="ICD-10 codes, of which the claim has one")] = None
    account: Annotated[CodePatterns | None, Field(description="the provider's numbers for the claim")] = None
    member_id: Annotated[CodePatterns | None, MEMBER_ID, Field(description="ids of members")] = None
    charge_over: Annotated[Dollars | None, Field(description="the charge is larger than this amount")] = None
    younger_than: Annotated[Duration | None, Field(description="it was received less than this time ago")] = None
    status: Annotated[Literal["received", "pended", "denied", "paid"], Field(description="the status")]
    reason: Annotated[str, Field(description="why it is pended or denied, such as missing_authorization")] = ""
    text: Annotated[str, Field(description="an explanation for people")] = ""


class AppealMatch(Frozen):
    """Selects appeals. All keys that are given must match."""

    of: Annotated[Literal["authorization", "claim"] | None, Field(description="what is appealed")] = None
    procedure_code: Annotated[CodePatterns | None, Field(description="codes, of which the denied request has one")] = (
        None
    )
    denial_reason: Annotated[CodePatterns | None, Field(description="reasons of the denial")] = None
    member_id: Annotated[CodePatterns | None, MEMBER_ID, Field(description="ids of members")] = None
    attachments: Annotated[Flag | None, Field(description="whether documents are sent with the appeal")] = None
    reason: Annotated[JsonValue, Field(description="the text of the appeal: a value or a matcher")] = None


class AppealRule(Frozen):
    """The outcome of appeals that match."""

    match: Annotated[AppealMatch, Field(description="which appeals; all if not given")] = AppealMatch()
    outcome: Annotated[Literal["upheld", "overturned"], Field(description="whether the denial stays")]
    delay: Annotated[
        Duration | None, Field(description="simulated time until the decision; by default `delay` of `appeals`")
    ] = None
    text: Annotated[str, Field(description="an explanation for people")] = ""
