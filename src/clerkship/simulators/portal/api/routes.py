"""The routes of the REST API."""

from typing import Any

from clerkship.sandbox.operation import Operation, OperationContext
from clerkship.sandbox.request import Refusal, Reply, json_reply
from clerkship.sandbox.route import BYTES, Route
from clerkship.simulators.portal.api import draft_operations as drafts
from clerkship.simulators.portal.api import lookup_operations as lookups
from clerkship.simulators.portal.api import policy_operations as policies
from clerkship.simulators.portal.api import request_operations as requests
from clerkship.simulators.portal.api.inputs import NewRequest
from clerkship.simulators.portal.api.openapi import build_description
from clerkship.simulators.portal.api.results import ApiSubmission
from clerkship.simulators.portal.api.serve import CLOSED, CREATED, ApiAnswer, build_api_route, refuse_api
from clerkship.simulators.portal.desk import NOT_FOUND, Desk
from clerkship.simulators.portal.drafts import choose_documents, submit_draft
from clerkship.simulators.portal.session import API_PATH
from clerkship.simulators.portal.site import PageRequest, parse_page
from clerkship.simulators.portal.state import PortalState

MAX_UPLOAD = 20_000_000


def submit_request(desk: Desk, given: NewRequest) -> ApiAnswer[ApiSubmission]:
    """Submit a new authorization request with all of its data at once, without a draft. The member comes from a lookup,
    documents are uploaded before, `attest` must be true. Everything that is wrong is listed by field, and nothing is
    filed. The answer has the reference number, or says that no authorization is needed; then nothing was filed.
    """
    documents = tuple(each.document.id for each in choose_documents(desk, given.documents))
    draft = drafts.build_new_request(desk, given, documents)
    return drafts.answer_submission(desk, submit_draft(desk, draft, is_attested=given.attest))


_UPLOAD: dict[str, Any] = {
    "status": CREATED,
    "body": "data",
    "query": ("name", "type"),
    "media": BYTES,
    "parse": drafts.parse_upload,
    "max_body": MAX_UPLOAD,
    "is_heavy": lambda request: len(request.body) > 50_000,
}
_add = build_api_route
OPERATION_ROUTES = (
    _add("GET", "/requests", requests.list_requests, essential=True),
    _add("POST", "/requests", submit_request, essential=True, status=CREATED),
    _add("GET", "/requests/{reference}", requests.read_request, essential=True),
    _add("GET", "/requests/{reference}/documents", requests.list_request_documents),
    _add("POST", "/requests/{reference}/reply", requests.reply_to_request, essential=True),
    _add("POST", "/requests/{reference}/change", requests.change_request),
    _add("POST", "/requests/{reference}/withdraw", requests.withdraw_request),
    _add("POST", "/requests/{reference}/appeal", requests.appeal_request),
    _add("GET", "/drafts", drafts.list_drafts),
    _add("POST", "/drafts", drafts.create_draft, status=CREATED),
    _add("GET", "/drafts/{id}", drafts.read_draft),
    _add("PATCH", "/drafts/{id}", drafts.update_draft),
    _add("DELETE", "/drafts/{id}", drafts.discard_draft),
    _add("POST", "/drafts/{id}/submit", drafts.submit_saved_draft, status=CREATED),
    _add("POST", "/drafts/{id}/documents", drafts.upload_to_draft, **_UPLOAD),
    _add("POST", "/documents", drafts.upload_document, essential=True, **_UPLOAD),
    _add("GET", "/documents/{id}", drafts.read_document),
    _add("GET", "/documents/{id}/content", drafts.read_document_content),
    _add("DELETE", "/documents/{id}", drafts.discard_document),
    _add("GET", "/payers", lookups.list_portal_payers, None),
    _add("POST", "/members/lookup", lookups.look_up_patient, "eligibility", essential=True),
    _add("GET", "/members/{id}", lookups.read_patient, "eligibility"),
    _add("GET", "/members/{id}/eligibility", lookups.read_eligibility, "eligibility", essential=True),
    _add("GET", "/authorization-need", lookups.check_authorization_need, essential=True),
    _add("GET", "/providers", lookups.search_providers, None),
    _add("GET", "/providers/{npi}", lookups.read_provider, None),
    _add("GET", "/codes", lookups.search_codes, None),
    _add("POST", "/questions", lookups.ask_clinical_questions, essential=True),
    _add("GET", "/inbox", lookups.list_inbox, essential=True),
    _add("GET", "/inbox/{id}", lookups.read_letter, essential=True),
    _add("GET", "/inbox/{id}/letter.pdf", lookups.read_letter_pdf),
    _add("GET", "/policies", policies.search_policies, None, essential=True),
    _add("GET", "/policies/{id}/{version}", policies.read_policy, None, essential=True),
    _add("GET", "/policies/{id}/{version}/policy.pdf", policies.read_policy_pdf, None),
    _add("GET", "/claims", lookups.find_patient_claims, "claims"),
    _add("GET", "/claims/{id}", lookups.read_patient_claim, "claims"),
)


def describe_api(context: OperationContext[PortalState], request: PageRequest) -> Reply:
    """Return the description of the API (OpenAPI 3.1)."""
    if not context.state.config.api:
        raise Refusal(NOT_FOUND, "not_found", CLOSED)
    return json_reply(200, build_description(OPERATION_ROUTES, context.base_url))


def refuse_unknown_path(context: OperationContext[PortalState], request: PageRequest) -> Reply:
    """Refuse a path that the API does not have."""
    text = f"There is no {request.method} {request.path[:100]}. {API_PATH}/openapi.json lists what there is."
    raise Refusal(NOT_FOUND, "not_found", text if context.state.config.api else CLOSED)


def _build_open_route(path: str, name: str) -> Route:
    operation = Operation(describe_api, name=name, access="open", tool=False)
    return Route("GET", f"{API_PATH}{path}", operation, parse=parse_page, refuse=refuse_api, free_query="fields")


API_ROUTES = (
    _build_open_route("", "describe_api_at_its_url"),
    _build_open_route("/", "describe_api_with_a_slash"),
    _build_open_route("/openapi.json", "describe_api"),
    *OPERATION_ROUTES,
    *(
        Route(
            method,
            f"{API_PATH}/{{path*}}",
            Operation(refuse_unknown_path, name=f"refuse_unknown_{method.lower()}", tool=False),
            parse=parse_page,
            refuse=refuse_api,
        )
        for method in ("GET", "POST")
    ),
)
