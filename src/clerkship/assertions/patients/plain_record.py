"""Read a record of any dataset as a FHIR resource, as far as it says whom it is about."""

from collections.abc import Mapping
from typing import Any

from clerkship.assertions.patients.data_reading import read_name
from clerkship.formats.fhir.resource import Resource
from clerkship.text.folding import fold_words
from clerkship.text.words import NUMBER_LABELS, SUFFIXES

PERSON_KINDS = ("Patient", "Person", "RelatedPerson", "Practitioner")
_FULL_NAMES = ("name", "fullname", "patientname")
_BIRTH_NAMES = ("birthdate", "dob", "dateofbirth", "born")
_PHONE_WORDS = frozenset({"phone", "mobile", "cell", "fax", "sms", "tel", "telephone"})
_STREET_NAMES = ("address", "street", "addressline")


def to_resource(record: Mapping[str, Any], type: str | None = None) -> Resource:
    """Return a record as a resource; a FHIR resource is returned as it is.

    Of another record, `name`, `birthdate`, phone numbers, e-mail addresses, `address` and numbers such as `mrn` count.
    """
    if "resourceType" in record:
        return dict(record)
    resource: dict[str, Any] = {"resourceType": type or str(record.get("type") or "Record")}
    lists: dict[str, list[dict[str, Any]]] = {"name": [], "telecom": [], "address": [], "identifier": []}
    lists["name"] += map(_split_name, read_name(record))
    for key, value in record.items():
        text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
        words = fold_words(str(key).replace("_", " "))
        plain = "".join(words)
        if not text or key == "type":
            continue
        if key == "id":
            resource["id"] = text
        elif plain in _FULL_NAMES:
            lists["name"].append(_split_name(text))
        elif plain in _BIRTH_NAMES:
            resource["birthDate"] = text
        elif "@" in text:
            lists["telecom"].append({"system": "email", "value": text})
        elif _PHONE_WORDS & set(words):
            lists["telecom"].append({"system": "phone", "value": text})
        elif plain in _STREET_NAMES:
            lists["address"].append({"line": [text.partition(",")[0]]})
        elif NUMBER_LABELS & set(words):
            lists["identifier"].append({"value": text})
    return resource | lists


def _split_name(text: str) -> dict[str, Any]:
    """Return the parts of `Ana Rivera` or `Rivera, Ana`."""
    family, comma, given = text.partition(",")
    if comma:
        return {"text": text, "family": family.strip(), "given": given.split()}
    words = [word for word in text.split() if word.lower().strip(".") not in SUFFIXES]
    return {"text": text, "family": words[-1] if words else "", "given": words[:-1]}
