"""Who asks which payer about which person, as resources of FHIR say it.

A CoverageEligibilityRequest of the chart and a Claim that is sent to a payer name their parties in the same way.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from clerkship.formats.fhir.resource import Resource, list_objects
from clerkship.payer.book import PayerBook
from clerkship.payer.inquiry import PersonQuery
from clerkship.payer.members import NPI
from clerkship.payer.name_sorts import normalize_member_id
from clerkship.text.dates import parse_iso_date

IsSharedId = Callable[[str, str], bool]
"""Returns whether a payer has several people under a member id, given the numbers of both."""
_GENDERS: Mapping[str, Literal["male", "female", "unknown"]] = {"male": "male", "female": "female"}
_MEMBER_NUMBER = "MB"
"""The type of an identifier that is a member id (v2 table 0203)."""


class LinkedResources:
    """Finds the resources that a resource refers to: contained ones itself, others with `find_resource`."""

    def __init__(self, resource: Resource, find_resource: Callable[[str], Resource | None]) -> None:
        self._find_resource = find_resource
        contained = list_objects(resource, "contained")
        self._contained = {f"#{item['id']}": item for item in contained if isinstance(item.get("id"), str)}

    def find(self, reference: Any) -> Resource:
        """Return the resource that a Reference names; an empty one if it is neither contained nor found."""
        text = reference.get("reference") if isinstance(reference, Mapping) else None
        if not isinstance(text, str):
            return {}
        found = self._contained.get(text) if text.startswith("#") else self._find_resource(text)
        return found or {}

    def list_identifiers(self, reference: Any) -> list[Mapping[str, Any]]:
        """Return the identifier in a Reference, and those of the resource that it names."""
        logical = reference.get("identifier") if isinstance(reference, Mapping) else None
        stated = [logical] if isinstance(logical, Mapping) else []
        identifiers = [*stated, *list_objects(self.find(reference), "identifier")]
        return [identifier for identifier in identifiers if get_text(identifier, "value")]

    def find_number(self, reference: Any) -> str:
        """Return the first identifier of what a Reference names; empty if it has none."""
        return next((get_text(item, "value") for item in self.list_identifiers(reference)), "")

    def find_npi(self, reference: Any) -> str:
        """Return the NPI of an organization, a practitioner, or the practitioner or organization of a role.

        Where no identifier is called an NPI, it is the first one.
        """
        candidates = list(self._iter_provider_references(reference))
        for candidate in candidates:
            for identifier in self.list_identifiers(candidate):
                if identifier.get("system") == NPI:
                    return get_text(identifier, "value")
        return next(filter(None, map(self.find_number, candidates)), "")

    def _iter_provider_references(self, reference: Any) -> Iterator[Any]:
        yield reference
        role = self.find(reference)
        if role.get("resourceType") == "PractitionerRole":
            yield role.get("practitioner")
            yield role.get("organization")


def get_text(data: Any, name: str) -> str:
    """Return a text element without surrounding blanks; empty if it is not there."""
    value = data.get(name) if isinstance(data, Mapping) else None
    return value.strip() if isinstance(value, str) else ""


def list_codes(concept: Any) -> list[str]:
    """Return the codes of a CodeableConcept."""
    return [code for coding in list_objects(concept, "coding") if (code := get_text(coding, "code"))]


def find_asked_coverage(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reference to the coverage that a request is about: the focal one, else the first."""
    insurances = list_objects(request, "insurance")
    focal = [insurance for insurance in insurances if insurance.get("focal") is True]
    coverage = [*focal, *insurances][0].get("coverage") if insurances else None
    return coverage if isinstance(coverage, dict) else {}


def read_parties(request: Resource, linked: LinkedResources, is_shared: IsSharedId) -> dict[str, Any]:
    """Return the fields of a PartyQuery. What the request and its resources do not say is left out."""
    coverage_reference = find_asked_coverage(request)
    coverage = linked.find(coverage_reference)
    payer_id = linked.find_number(request.get("insurer")) or _find_payor(coverage, linked)
    patient = linked.find(request.get("patient"))
    stated = get_text(coverage, "subscriberId") or linked.find_number(coverage_reference)
    is_dependent = _names_subscriber(coverage) or (not _is_own(coverage) and is_shared(payer_id, stated))
    insured = linked.find(coverage.get("subscriber")) if is_dependent else patient
    member_id = stated or _find_member_number(insured) or _find_member_number(patient)
    return {
        "payer_id": payer_id,
        "provider_id": linked.find_npi(request.get("provider")),
        "subscriber": describe_person(insured).model_copy(update={"member_id": member_id or None}),
        "dependent": describe_person(patient) if is_dependent else None,
    }


def has_dependents(book: PayerBook, payer_id: str, member_id: str) -> bool:
    """Return whether a payer has several people under a member id."""
    return len(book.keys_by_id.get((payer_id, normalize_member_id(member_id)), ())) > 1


def _find_payor(coverage: Resource, linked: LinkedResources) -> str:
    return next(filter(None, map(linked.find_number, list_objects(coverage, "payor"))), "")


def _find_member_number(person: Resource) -> str:
    """Return the identifier of a person that is called a member id."""
    identifiers = list_objects(person, "identifier")
    return next((get_text(each, "value") for each in identifiers if _MEMBER_NUMBER in list_codes(each.get("type"))), "")


def _names_subscriber(coverage: Resource) -> bool:
    """Return whether a coverage says that its beneficiary is insured under the id of another person."""
    subscriber, beneficiary = (get_text(coverage.get(name), "reference") for name in ("subscriber", "beneficiary"))
    return bool(get_text(coverage, "dependent")) or (bool(subscriber) and subscriber != beneficiary)


def _is_own(coverage: Resource) -> bool:
    """Return whether the beneficiary of a coverage is the subscriber, as far as its relationship says."""
    return list_codes(coverage.get("relationship"))[:1] in ([], ["self"])


def describe_person(resource: Resource) -> PersonQuery:
    """Return what a Patient or RelatedPerson says about a person."""
    name = _choose_name(list_objects(resource, "name"))
    given = name.get("given")
    return PersonQuery(
        family=get_text(name, "family") or None,
        given=given[0] if isinstance(given, list) and given and isinstance(given[0], str) else None,
        birth_date=parse_iso_date(get_text(resource, "birthDate")),
        gender=_GENDERS.get(get_text(resource, "gender")),
    )


def _choose_name(names: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the official name, else the first one."""
    official = [name for name in names if name.get("use") == "official"]
    return next(iter([*official, *names]), {})
