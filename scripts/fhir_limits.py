"""REST features of R4 that the FHIR server refuses, each with a request that is refused."""

from typing import NamedTuple

import orjson

from clerkship.sandbox.request import Request
from clerkship.simulators.fhir.outcome import FHIR_JSON


class NotDone(NamedTuple):
    """A feature that is not supported."""

    what: str
    instead: str
    """What to do for the same end, or why not."""
    request: Request
    status: int


def _post(path: str, data: object, media: str = FHIR_JSON) -> Request:
    return Request("POST", path, headers={"content-type": media}, body=orjson.dumps(data))


_PATCH = Request(
    "PATCH", "/Patient/p1", headers={"content-type": FHIR_JSON}, body=b'{"resourceType":"Parameters","parameter":[]}'
)
NOT_DONE = (
    NotDone("answers in XML or Turtle", "`application/fhir+json`", Request("GET", "/Patient", {"_format": "xml"}), 406),
    NotDone(
        "bodies in XML or Turtle",
        "`application/fhir+json`",
        Request("POST", "/Patient", headers={"content-type": "application/fhir+xml"}, body=b"<Patient/>"),
        415,
    ),
    NotDone(
        "another version of FHIR",
        "4.0",
        Request("GET", "/Patient", headers={"accept": "application/fhir+json; fhirVersion=5.0"}),
        406,
    ),
    NotDone(
        "a Binary as the bytes it holds",
        "base64 in its `data`",
        Request("GET", "/Binary/b1", headers={"accept": "application/pdf"}),
        406,
    ),
    NotDone(
        "bodies that are compressed",
        "as they are",
        Request("POST", "/Patient", headers={"content-type": FHIR_JSON, "content-encoding": "gzip"}, body=b"\x1f\x8b"),
        415,
    ),
    NotDone("FHIRPath Patch and XML Patch", "JSON Patch; in a Bundle, as a Binary", _PATCH, 415),
    NotDone(
        "deleting several by one condition",
        "one at a time",
        Request("DELETE", "/Patient", {"_id": "p1,p2"}),
        412,
    ),
    NotDone("`Patient/$everything` of all patients", "one patient's", Request("GET", "/Patient/$everything"), 404),
    NotDone(
        "`$everything` of anything else",
        "a compartment, as `Encounter/1/*`",
        Request("GET", "/Encounter/e1/$everything"),
        404,
    ),
    NotDone(
        "other operations",
        "`$translate`, `$subsumes`, `$meta` and the rest are not there",
        _post("/ConceptMap/$translate", {"resourceType": "Parameters"}),
        405,
    ),
    NotDone(
        "`$export` with `_elements`, `patient`, `includeAssociatedData`",
        "`_type`, `_since`, `_typeFilter`; with lenient handling they are ignored",
        Request("GET", "/$export", {"_elements": "id"}, {"prefer": "respond-async"}),
        400,
    ),
    NotDone(
        "keeping Parameters",
        "they go into operations and come out of them; R4 has no address for them",
        _post("/Parameters", {"resourceType": "Parameters"}),
        404,
    ),
    NotDone(
        "Subscriptions by websocket, email, SMS or message",
        "rest-hook",
        _post(
            "/Subscription",
            {
                "resourceType": "Subscription",
                "status": "requested",
                "reason": "new results",
                "criteria": "Observation",
                "channel": {"type": "websocket"},
            },
        ),
        422,
    ),
    NotDone("GraphQL", "search", Request("GET", "/$graphql"), 404),
    NotDone(
        "messages and documents posted to the base",
        "batch and transaction",
        _post("/", {"resourceType": "Bundle", "type": "message"}),
        400,
    ),
    NotDone(
        "searching by `_list`, `_filter`, `_query`", "the parameters", Request("GET", "/Patient", {"_list": "l1"}), 400
    ),
    NotDone("sorting a history", "the newest are first", Request("GET", "/Patient/_history", {"_sort": "_id"}), 400),
    NotDone(
        "a conditional create, update, patch or delete without a condition",
        "say which is meant",
        Request("DELETE", "/Patient"),
        412,
    ),
)
"""Asked of a server that has the patients p1 and p2."""
ACCEPTED = (
    "profiles: `meta.profile` is kept and not checked, and `$validate` warns of it",
    "invariants and slices of StructureDefinitions; terminology beyond required bindings",
    "references to what is deleted afterwards: deleting is not refused because somebody refers to it",
    "Subscriptions of the dataset and of steps: kept, and not notified",
)
"""What is let through without the checks that a larger server has."""
