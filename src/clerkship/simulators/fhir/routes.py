"""The interactions of a FHIR server: which request is which (R4 http)."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, RootModel

from clerkship.fhir.issue import Issue, outcome
from clerkship.fhir.resource import render
from clerkship.kit.memory import uncollected
from clerkship.sandbox.exchange import Reply, Request
from clerkship.sandbox.route import Call, Route, find_route
from clerkship.simulators.fhir import bundle, capabilities, history, interactions, reading, searching
from clerkship.simulators.fhir.address import address_of
from clerkship.simulators.fhir.draft import Draft
from clerkship.simulators.fhir.entries import Entry
from clerkship.simulators.fhir.operations import everything, validate
from clerkship.simulators.fhir.outcome import FHIR_JSON, refusal
from clerkship.simulators.fhir.wire import (
    FORM,
    JSON_PATCH,
    Answer,
    Ask,
    check_format,
    head_of,
    preferred_return,
    prettily,
)

SEARCH = (
    "FHIR R4 search parameters as in a URL, such as name=smith&birthdate=ge1970&_count=10;"
    " for the next page, what stands behind the ? of the answer's `next` link"
)
PAGE = {"_cursor": "the `_cursor` of the answer's `next` link, for the next page; the other arguments stay the same"}
TYPE = {"type": "FHIR R4 resource type, such as Observation"}
ABOUT = TYPE | {
    "id": "the resource's id, such as 42 of Observation/42",
    "version": "the version's id: `meta.versionId` of the resource as it was",
}
MAX_QUICK_COUNT_DIGITS = 2
"""A page of 100 or more is not shown on the event loop."""
PATIENT = {"id": "the patient's id, such as 42 of Patient/42"}
FEWER = "ask for fewer with `_count`, and go on by the `next` link of that page"


def is_heavy_search(request: Request) -> bool:
    """Return whether a search may bring in much more than it matches, or shows a large page."""
    return len(request.query.get("_count", "")) > MAX_QUICK_COUNT_DIGITS or any(
        name.startswith(("_include", "_revinclude", "_has")) for name in request.query
    )


def _always(request: Request) -> bool:
    return True


class AnyResource(BaseModel):
    """A resource; what else it has depends on its type."""

    model_config = ConfigDict(extra="allow")
    resourceType: str = Field(description="its type, such as Patient")  # noqa: N815  (as FHIR spells it)


class JsonPatch(RootModel[list[dict[str, Any]]]):
    """Operations of RFC 6902, such as {"op": "replace", "path": "/active", "value": false}."""


def serve(call: Call, interact: Callable[[Ask], Answer]) -> Reply:
    """One interaction: decided in a draft, answered, and only then done."""
    request = call.request
    check_format(request.headers, request.query.get("_format"))
    address = address_of(call.base)
    path = request.path.removesuffix("/") or "/"
    with Draft(call.state, call.act, address) as draft:
        pairs, body = address.pairs_in(request.pairs), address.json_in(request.body)
        ask = Ask(draft, call.params, pairs, request.headers, body, path)
        reply = _reply(ask, _decided(ask, interact))
    reply = address.reply_out(reply)
    if request.method == "HEAD":
        return Reply(reply.status, b"", reply.media, reply.headers)
    return prettily(reply) if request.query.get("_pretty") == "true" else reply


def _decided(ask: Ask, interact: Callable[[Ask], Answer]) -> Answer:
    """What comes of it. Bodies and patches have a limit of depth, so nothing should run out of stack; if something
    does, it is still what the agent sent, and an agent's odd input must never end as the platform's error."""
    try:
        return interact(ask)
    except RecursionError:
        raise refusal(400, "too-costly", "what was sent is nested too deep to be worked on") from None


def _reply(ask: Ask, answer: Answer) -> Reply:
    version = answer.version
    headers = head_of(version) if version is not None else {}
    if not answer.key:
        body = _told(answer.told) if answer.told else answer.body
        return Reply(answer.status, body, FHIR_JSON, headers)
    assert version is not None
    headers["Location"] = f"{ask.draft.base}/{answer.key}/_history/{version.id}"
    shows = preferred_return(ask.headers, "representation")
    if shows == "representation":
        return Reply(answer.status, version.data or b"", FHIR_JSON, headers)
    said = _told(f"{answer.key} is at version {version.id}") if shows == "OperationOutcome" else b""
    return Reply(answer.status, said, FHIR_JSON, headers)


def _told(text: str) -> bytes:
    return render(outcome([Issue("information", "informational", text)]))


def read_capabilities(call: Call) -> Reply:
    """What this FHIR R4 server can do: its CapabilityStatement."""
    return serve(call, lambda ask: capabilities.read(ask, ROUTES))


def read(call: Call) -> Reply:
    """Read one FHIR R4 resource, by its type and id, as it is now."""
    return serve(call, reading.read)


def vread(call: Call) -> Reply:
    """Read one FHIR R4 resource as it was in an earlier version."""
    return serve(call, reading.vread)


def create(call: Call) -> Reply:
    """Create a FHIR R4 resource, under an id the server chooses; answered with the resource as it is kept."""
    return serve(call, interactions.create)


def update(call: Call) -> Reply:
    """Replace a FHIR R4 resource: the body is the whole resource as it is to be, with its `id`."""
    return serve(call, interactions.update)


def conditional_update(call: Call) -> Reply:
    """A whole resource in place of the one that a search finds, or new if there is none."""
    return serve(call, interactions.conditional_update)


def patch(call: Call) -> Reply:
    """Change parts of a FHIR R4 resource by a JSON Patch (RFC 6902): a list of operations."""
    return serve(call, interactions.patch)


def conditional_patch(call: Call) -> Reply:
    """Change the resource that a search finds by a JSON Patch (RFC 6902)."""
    return serve(call, interactions.conditional_patch)


def delete(call: Call) -> Reply:
    """Delete a FHIR R4 resource; its versions stay."""
    return serve(call, interactions.delete)


def conditional_delete(call: Call) -> Reply:
    """Delete the one resource that a search finds; several are refused."""
    return serve(call, interactions.conditional_delete)


def history_instance(call: Call) -> Reply:
    """All versions of one FHIR R4 resource, the newest first, as a Bundle with a `next` link where there are more."""
    return serve(call, history.history)


def history_type(call: Call) -> Reply:
    """All versions of all resources of a type, the newest first."""
    return serve(call, history.history)


def history_system(call: Call) -> Reply:
    """All versions of everything, the newest first."""
    return serve(call, history.history)


def search_type(call: Call) -> Reply:
    """Search for FHIR R4 resources of a type: those that match, as a Bundle with a `next` link where there are more."""
    return serve(call, searching.search)


def search_type_by_post(call: Call) -> Reply:
    """The same search with its parameters in the body, as a form."""
    return serve(call, searching.search_by_post)


def search_system(call: Call) -> Reply:
    """Resources of several types that match: `_type=Patient,Practitioner` and parameters that they share."""
    return serve(call, searching.search)


def search_system_by_post(call: Call) -> Reply:
    """The same search with its parameters in the body, as a form."""
    return serve(call, searching.search_by_post)


def search_compartment(call: Call) -> Reply:
    """Resources of a type that belong to one, such as Patient/1/Observation; `*` for every type."""
    return serve(call, searching.search_compartment)


def search_compartment_by_post(call: Call) -> Reply:
    """The same search with its parameters in the body, as a form."""
    return serve(call, searching.search_by_post)


def process_bundle(call: Call) -> Reply:
    """Do several FHIR R4 interactions at once: a batch Bundle (each by itself) or a transaction (all or none)."""
    with uncollected():  # nearly all that a large one makes is kept
        return serve(call, lambda ask: bundle.process(ask, operation_of, INTERACTIONS))


def patient_everything(call: Call) -> Reply:
    """All there is about one patient (FHIR R4 $everything), as a Bundle with a `next` link where there is more."""
    return serve(call, everything.everything)


def patient_everything_by_post(call: Call) -> Reply:
    """The same with its parameters in the body, as a Parameters resource."""
    return serve(call, everything.everything_by_post)


def validate_type(call: Call) -> Reply:
    """What is wrong with a FHIR R4 resource, without keeping it: always an OperationOutcome."""
    return serve(call, validate.validate)


def validate_instance(call: Call) -> Reply:
    """What would be wrong with a resource in place of one that is there, or with deleting that."""
    return serve(call, validate.validate)


ROUTES = (
    Route("GET", "/metadata", "capabilities", read_capabilities, tool=False),
    Route("GET", "/_history", "history_system", history_system, query=history.PARAMETERS, tool=False),
    Route("GET", "/{type}/_history", "history_type", history_type, query=history.PARAMETERS, tool=False),
    Route(
        "GET",
        "/Patient/{id}/$everything",
        "everything",
        patient_everything,
        query=everything.PARAMETERS | PAGE,
        about=PATIENT,
        less=FEWER,
        heavy=_always,
    ),
    Route("GET", "/{type}/{id}", "read", read, about=ABOUT),
    Route("GET", "/{type}/{id}/_history/{version}", "vread", vread, about=ABOUT),
    Route(
        "GET",
        "/{type}/{id}/_history",
        "history_instance",
        history_instance,
        query=history.PARAMETERS | PAGE,
        about=ABOUT,
        less=FEWER,
    ),
    Route(
        "GET",
        "/{type}/{id}/{other}",
        "search_compartment",
        search_compartment,
        open_query=SEARCH,
        tool=False,
        heavy=is_heavy_search,
    ),
    Route(
        "GET", "/{type}", "search_type", search_type, open_query=SEARCH, about=TYPE, less=FEWER, heavy=is_heavy_search
    ),
    Route("GET", "/", "search_system", search_system, open_query=SEARCH, tool=False, heavy=is_heavy_search),
    Route(
        "POST",
        "/_search",
        "search_system_by_post",
        search_system_by_post,
        body="text",
        media=FORM,
        tool=False,
        heavy=_always,
    ),
    Route(
        "POST",
        "/{type}/_search",
        "search_type_by_post",
        search_type_by_post,
        body="text",
        media=FORM,
        tool=False,
        heavy=_always,
    ),
    Route(
        "POST",
        "/{type}/{id}/{other}/_search",
        "search_compartment_by_post",
        search_compartment_by_post,
        body="text",
        media=FORM,
        tool=False,
        heavy=_always,
    ),
    Route(
        "POST",
        "/Patient/{id}/$everything",
        "everything_by_post",
        patient_everything_by_post,
        body=AnyResource,
        media=FHIR_JSON,
        tool=False,
        heavy=_always,
    ),
    Route("POST", "/{type}/$validate", "validate", validate_type, body=AnyResource, media=FHIR_JSON, about=TYPE),
    Route(
        "POST",
        "/{type}/{id}/$validate",
        "validate_instance",
        validate_instance,
        body=AnyResource,
        media=FHIR_JSON,
        tool=False,
    ),
    Route("POST", "/{type}", "create", create, body=AnyResource, media=FHIR_JSON, about=TYPE),
    Route("POST", "/", "bundle", process_bundle, body=AnyResource, media=FHIR_JSON, heavy=_always),
    Route("PUT", "/{type}/{id}", "update", update, body=AnyResource, media=FHIR_JSON, about=ABOUT),
    Route(
        "PUT",
        "/{type}",
        "conditional_update",
        conditional_update,
        body=AnyResource,
        media=FHIR_JSON,
        open_query=SEARCH,
        tool=False,
    ),
    Route("PATCH", "/{type}/{id}", "patch", patch, body=JsonPatch, media=JSON_PATCH, about=ABOUT, heavy=_always),
    Route(
        "PATCH",
        "/{type}",
        "conditional_patch",
        conditional_patch,
        body=JsonPatch,
        media=JSON_PATCH,
        open_query=SEARCH,
        tool=False,
        heavy=_always,
    ),
    Route("DELETE", "/{type}/{id}", "delete", delete, about=ABOUT),
    Route("DELETE", "/{type}", "conditional_delete", conditional_delete, open_query=SEARCH, tool=False),
)

INTERACTIONS: Mapping[str, Callable[[Ask], Answer]] = {
    "history_system": history.history,
    "history_type": history.history,
    "history_instance": history.history,
    "everything": everything.everything,
    "everything_by_post": everything.everything_by_post,
    "read": reading.read,
    "vread": reading.vread,
    "search_compartment": searching.search_compartment,
    "search_type": searching.search,
    "search_system": searching.search,
    "validate": validate.validate,
    "validate_instance": validate.validate,
    "create": interactions.create,
    "update": interactions.update,
    "conditional_update": interactions.conditional_update,
    "patch": interactions.patch,
    "conditional_patch": interactions.conditional_patch,
    "delete": interactions.delete,
    "conditional_delete": interactions.conditional_delete,
}
"""What may stand in a batch or a transaction."""


def operation_of(entry: Entry) -> tuple[str, Mapping[str, str]]:
    """Which interaction an entry of a Bundle is."""
    route, params = find_route(ROUTES, Request(entry.method, entry.path))
    return route.operation, params
