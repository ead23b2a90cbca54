"""Requests that touch every interaction of a FHIR server."""

import orjson

from clerkship.fhir.resource import render
from clerkship.model.dataset import Dataset
from clerkship.sandbox.exchange import Query, Request
from clerkship.simulators.fhir.outcome import FHIR_JSON, FORM, JSON_PATCH

_PATIENT = {
    "resourceType": "Patient",
    "id": "p1",
    "identifier": [{"system": "http://example.org/mrn", "value": "4711"}],
    "name": [{"family": "Okafor", "given": ["Ada"]}],
    "birthDate": "1965-03-15",
}
_WEIGHT = {
    "resourceType": "Observation",
    "status": "final",
    "code": {"coding": [{"system": "http://loinc.org", "code": "29463-7"}]},
    "subject": {"reference": "Patient/p1"},
    "effectiveDateTime": "2026-03-02T09:00:00Z",
    "valueQuantity": {"value": 72.5, "unit": "kg", "system": "http://unitsofmeasure.org", "code": "kg"},
}
_KNOWN = {
    **_PATIENT,
    "id": "known",
    "meta": {"versionId": "3", "lastUpdated": "2026-02-27T17:30:00.000+00:00"},
    "identifier": [{"system": "http://example.org/mrn", "value": "1234"}],
}
_EARLIER = {**_WEIGHT, "id": "earlier", "subject": {"reference": "Patient/known"}}
DATASET = Dataset(name="a small chart", type="fhir", lines=(render(_EARLIER), render(_KNOWN)))
_TRANSACTION = {
    "resourceType": "Bundle",
    "type": "transaction",
    "entry": [
        {
            "fullUrl": "urn:uuid:61ebe359-bfdc-4613-8bf2-c5e300945f0a",
            "resource": {"resourceType": "Patient", "name": [{"family": "Lindqvist"}]},
            "request": {"method": "POST", "url": "Patient"},
        },
        {
            "resource": {**_WEIGHT, "subject": {"reference": "urn:uuid:61ebe359-bfdc-4613-8bf2-c5e300945f0a"}},
            "request": {"method": "POST", "url": "Observation"},
        },
        {"request": {"method": "GET", "url": "Patient/p1"}},
    ],
}
_PARAMETERS = {"resourceType": "Parameters", "parameter": [{"name": "_type", "valueCode": "Observation"}]}
_BATCH = {
    "resourceType": "Bundle",
    "type": "batch",
    "entry": [
        {"request": {"method": "GET", "url": "Patient?name=Lindqvist"}},
        {"request": {"method": "GET", "url": "Patient/nobody"}},
    ],
}


def _sent(method: str, path: str, data: object, media: str = FHIR_JSON, **query: str) -> Request:
    return Request(method, path, Query(tuple(query.items())), {"content-type": media}, orjson.dumps(data))


EXERCISE = (
    Request("GET", "/metadata"),
    Request("GET", "/.well-known/smart-configuration"),
    _sent("PUT", "/Patient/p1", _PATIENT),
    _sent("PUT", "/Patient/p1", {**_PATIENT, "active": True}),
    _sent("POST", "/Observation", _WEIGHT),
    Request("GET", "/Patient/p1"),
    Request("GET", "/Patient/p1/_history/1"),
    Request("GET", "/Patient", {"name": "oka", "_revinclude": "Observation:subject"}),
    Request("POST", "/Patient/_search", headers={"content-type": FORM}, body=b"birthdate=lt1970"),
    Request("POST", "/_search", headers={"content-type": FORM}, body=b"_type=Patient,Observation&_count=1"),
    Request("GET", "/", {"_type": "Patient,Observation"}),
    Request("GET", "/Patient/p1/Observation", {"code": "29463-7"}),
    Request("POST", "/Patient/p1/Observation/_search", headers={"content-type": FORM}, body=b"code=29463-7"),
    _sent("PATCH", "/Patient/p1", [{"op": "replace", "path": "/active", "value": False}], JSON_PATCH),
    _sent("PATCH", "/Patient", [{"op": "add", "path": "/gender", "value": "female"}], JSON_PATCH, identifier="4711"),
    _sent("PUT", "/Patient", {key: value for key, value in _PATIENT.items() if key != "id"}, identifier="4711"),
    _sent("POST", "/", _TRANSACTION),
    _sent("POST", "/", _BATCH),
    _sent("POST", "/Patient/$validate", {"resourceType": "Patient", "birthDate": "yesterday"}),
    _sent("POST", "/Patient/p1/$validate", _PATIENT),
    Request("GET", "/Patient/p1/$everything"),
    _sent("POST", "/Patient/p1/$everything", _PARAMETERS),
    Request("GET", "/Patient/p1/_history"),
    Request("GET", "/Patient/_history"),
    Request("GET", "/_history", {"_count": "2"}),
    Request("DELETE", "/Observation", {"code": "29463-7", "subject": "Patient/p1"}),
    Request("DELETE", "/Patient/p1"),
    Request("GET", "/Patient/p1"),
    Request("GET", "/Patient/p1/_history/1"),
    Request("GET", "/Patient/known/_history/3"),
    Request("GET", "/Observation", {"subject": "Patient/known"}),
    _sent("PATCH", "/Patient/known", [{"op": "replace", "path": "/name/0/family", "value": "Obi"}], JSON_PATCH),
    _sent("PUT", "/Observation/earlier", {**_EARLIER, "status": "amended"}),
    Request("GET", "/Patient/known/$everything"),
    Request("DELETE", "/Observation/earlier"),
    Request("DELETE", "/Patient/known"),
    _sent("PUT", "/Patient/known", _KNOWN),
)
