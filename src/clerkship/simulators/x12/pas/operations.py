"""The operations of the payers' FHIR server, and their HTTP routes. Refusals are OperationOutcome resources."""

from typing import Annotated, Any

from pydantic import Field

from clerkship.formats.fhir.issue import FhirError, Issue, IssueCode, build_operation_outcome
from clerkship.formats.fhir.resource import Resource, render_resource
from clerkship.model.frozen import Frozen
from clerkship.payer.answer import AuthorizationAnswer
from clerkship.payer.state import PayerState
from clerkship.sandbox.operation import NoInput, Operation, OperationContext, operation
from clerkship.sandbox.request import Refusal, Reply
from clerkship.sandbox.route import HttpCall, Route, bind_input
from clerkship.simulators.x12.events import PasAnswered, PasOperation, PasRequested
from clerkship.simulators.x12.pas.bundle import read_bundle
from clerkship.simulators.x12.pas.elements import GUIDE, PAS_PATHS, PROCEDURES, get_code
from clerkship.simulators.x12.pas.request import read_request
from clerkship.simulators.x12.pas.response import ResponseWriter
from clerkship.simulators.x12.processing import ask_about_authorization
from clerkship.simulators.x12.state import X12State

FHIR_JSON = "application/fhir+json"
_BIG_BODY = 50_000
"""Bytes from which a request may take long."""
_ISSUE_CODES: dict[int, IssueCode] = {401: "login", 403: "forbidden", 404: "not-supported", 415: "not-supported"}
Context = OperationContext[X12State]


class PriorAuthorizationBundle(Frozen):
    """A Bundle of the PAS guide."""

    bundle: Annotated[
        Any,
        Field(
            description="a Bundle (type collection, with identifier and timestamp) whose first entry is the Claim (use "
            "preauthorization), with the Patient, Coverage and Organizations that it refers to"
        ),
    ]


class FhirPath(Frozen):
    """A path of the FHIR server that is not answered."""

    path: Annotated[str, Field(description="the path below /fhir")]


class PasRefusal(Refusal):
    """A refusal with the issues of an OperationOutcome."""

    def __init__(self, error: FhirError) -> None:
        super().__init__(400, error.issues[0].code, "; ".join(issue.text for issue in error.issues)[:2000])
        self.issues = error.issues


@operation(essential=True)
def submit_prior_authorization(context: Context, sent: PriorAuthorizationBundle) -> Resource:
    """Submit a prior authorization request as FHIR (Da Vinci PAS, Claim/$submit), or update or cancel one; the same
    payers answer it as a 278. Returns a Bundle whose first entry is the ClaimResponse.
    """
    return _ask(context, sent.bundle, "submit")[0]


@operation(essential=True)
def inquire_prior_authorization(context: Context, sent: PriorAuthorizationBundle) -> Resource:
    """Ask as FHIR (Da Vinci PAS, Claim/$inquire) which prior authorizations a patient has, and what was decided.
    Returns Parameters with one Bundle for each.
    """
    returned = [{"name": "return", "resource": each} for each in _ask(context, sent.bundle, "inquire")]
    return {"resourceType": "Parameters", **({"parameter": returned} if returned else {})}


def _ask(context: Context, data: Any, operation: PasOperation) -> list[Resource]:
    """Put a request to the payer, and return the Bundles of the answer."""
    state, action, is_inquiry = context.state, context.action, operation == "inquire"
    try:
        bundle = read_bundle(data, state.config.max_levels, is_inquiry=is_inquiry)
        request = read_request(bundle, action.domain(PayerState)[0].current, is_inquiry=is_inquiry)
    except FhirError as error:
        raise PasRefusal(error) from None
    about: dict[str, Any] = {"operation": operation, "payer_id": request.query.payer_id, "trace": request.trace}
    action.emit(PasRequested(**about, bundle=data))
    answer = ask_about_authorization(request, action)
    assert isinstance(answer, AuthorizationAnswer)
    codes = {get_code(item.get("productOrService"), *PROCEDURES) for item in bundle.items} - {""}
    if is_inquiry and codes:
        found = [each for each in answer.authorizations if codes & {one.procedure_code for one in each.services}]
        answer = answer.model_copy(update={"authorizations": tuple(found)})
    writer = ResponseWriter(bundle, state.local_time(action.now), is_inquiry=is_inquiry)
    written = writer.write(answer)
    reason = answer.rejection.reason if answer.rejection else None
    responses = tuple(resource for resources in written for resource in resources)
    action.emit(PasAnswered(**about, rejection=reason, responses=responses))
    return [writer.wrap(resources) for resources in written]


@operation(tool=False)
def read_capabilities(context: Context, nothing: NoInput) -> Resource:
    """Return the CapabilityStatement of the payers' FHIR server."""
    definitions = {"submit": "Claim-submit", "inquire": "Claim-inquiry"}
    operations = [{"name": key, "definition": f"{GUIDE}/OperationDefinition/{id}"} for key, id in definitions.items()]
    return {
        "resourceType": "CapabilityStatement",
        "status": "active",
        "date": context.state.local_time(context.action.now).date().isoformat(),
        "kind": "instance",
        "implementation": {"description": "Prior authorization of all payers (Da Vinci PAS 2.2.1)"},
        "fhirVersion": "4.0.1",
        "format": ["json"],
        "rest": [{"mode": "server", "resource": [{"type": "Claim", "operation": operations}]}],
    }


def refuse_interaction(context: Context, interaction: FhirPath) -> None:
    """Refuse every other interaction by its name."""
    advice = "; ask for later decisions with $inquire" if interaction.path.startswith("Subscription") else ""
    expected = "POST Claim/$submit, POST Claim/$inquire or GET metadata"
    raise Refusal(404, "not-supported", f"`{interaction.path[:80]}` is not supported (expected: {expected}){advice}")


def parse_bundle(call: HttpCall, context: Context) -> Any:
    """Parse a request; refuse formats other than JSON."""
    media = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in (FHIR_JSON, "application/json", ""):
        raise Refusal(415, "not-supported", f"the body is {media[:60]} (expected: {FHIR_JSON})")
    return bind_input(call, context)


def render_fhir(call: HttpCall, context: Context, resource: Resource) -> Reply:
    """Render a resource."""
    return Reply(200, render_resource(resource), FHIR_JSON)


def refuse_as_outcome(refusal: Refusal) -> Reply:
    """Render a refusal as an OperationOutcome."""
    issue = Issue("error", _ISSUE_CODES.get(refusal.status, "invalid"), refusal.reason)
    issues = refusal.issues if isinstance(refusal, PasRefusal) else (issue,)
    return Reply(refusal.status, render_resource(build_operation_outcome(issues)), FHIR_JSON)


_FHIR: dict[str, Any] = {"render": render_fhir, "refuse": refuse_as_outcome}
_BUNDLE: dict[str, Any] = {
    **_FHIR,
    "body": "bundle",
    "media": FHIR_JSON,
    "parse": parse_bundle,
    "is_heavy": lambda request: len(request.body) > _BIG_BODY,
}
_REFUSED = {
    method: Operation(refuse_interaction, name=f"refuse_{method.lower()}", tool=False)
    for method in ("GET", "POST", "PUT", "DELETE")
}
PAS_OPERATIONS: tuple[Operation[Any, Any], ...] = (
    *(submit_prior_authorization, inquire_prior_authorization, read_capabilities),
    *_REFUSED.values(),
)
PAS_ROUTES = (
    Route("POST", PAS_PATHS[0], submit_prior_authorization, **_BUNDLE),
    Route("POST", PAS_PATHS[1], inquire_prior_authorization, **_BUNDLE),
    Route("GET", "/fhir/metadata", read_capabilities, **_FHIR),
    *(Route(method, "/fhir/{path*}", refused, **_FHIR) for method, refused in _REFUSED.items()),
)
