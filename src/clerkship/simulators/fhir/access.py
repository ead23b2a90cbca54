"""What a client with an access token with scopes may read: the types of its scopes, and the record of one patient.

A token for one patient reads, searches, and gets `$everything`. Writes, histories, `$validate`, chained parameters and
`_has` are refused: they would reveal resources that the token does not cover.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from clerkship.formats.fhir.resource import Resource
from clerkship.formats.fhir.search import matches_search
from clerkship.formats.fhir.search.compartment import compartment_parameters, list_compartment_members
from clerkship.formats.fhir.search.criteria import build_compartment_criterion
from clerkship.formats.fhir.search.query import (
    AnyCriterion,
    ChainCriterion,
    Criterion,
    IdCriterion,
    ReverseChainCriterion,
    SearchQuery,
)
from clerkship.formats.fhir.search_parameters import get_parameters
from clerkship.sandbox.authentication.scope import AccessGrant
from clerkship.simulators.fhir.outcome import FhirRefusal, check_permission, insufficient_scope
from clerkship.simulators.fhir.transaction import Transaction

PATIENT = "Patient"
SHARED_TYPES = frozenset(
    {
        *("Binary", "Bundle", "EnrollmentResponse", "Group", "Linkage", "MessageHeader", "Parameters"),
        *("PaymentNotice", "PaymentReconciliation", "Subscription", "VerificationResult"),
    }
)
"""Types whose resources may be about several patients at once, or do not say about whom they are: a token for one
patient may not read them."""


def check_read(transaction: Transaction, key: str) -> None:
    """Refuse to read a resource that the access token does not cover.

    With a token for one patient, a resource that does not exist is refused in the same way as one of another patient,
    so that the refusal does not reveal which ids exist. Only the patient of the token itself may be found missing.
    """
    access = transaction.access
    if access is None:
        return
    type = key.partition("/")[0]
    if not access.allows(type, "read"):
        raise insufficient_scope(access, f"the scopes of the access token do not cover reading {type}")
    if not access.is_limited(type, "read"):
        return
    if key != f"{PATIENT}/{access.patient}" and not can_read(transaction, key):
        raise _outside(access, key)


def check_version_read(transaction: Transaction, key: str, resource: Resource) -> None:
    """Refuse to read an earlier version of a resource if that version was in the record of another patient."""
    access, type = transaction.access, key.partition("/")[0]
    if access is not None and access.is_limited(type, "read") and not _is_in_record(transaction, access, resource):
        raise _outside(access, key)


def can_read(transaction: Transaction, key: str) -> bool:
    """Return whether the access token covers an existing resource; True for requests without such a token."""
    access = transaction.access
    if access is None:
        return True
    type = key.partition("/")[0]
    resource = transaction.resource(key)
    if resource is None or not access.allows(type, "read"):
        return False
    return not access.is_limited(type, "read") or _is_in_record(transaction, access, resource)


def _is_in_record(transaction: Transaction, access: AccessGrant, resource: Resource) -> bool:
    """Return whether a resource is in the compartment of the token's patient, or of a type that is about no patient."""
    type = resource["resourceType"]
    if type in SHARED_TYPES:
        return False
    if type == PATIENT:
        return resource.get("id") == access.patient
    names = list_patient_parameters(type)
    if names is None:
        return True
    patient = f"{PATIENT}/{access.patient}"
    return any(matches_search(transaction, type, [(name, patient)], resource) for name in names)


def list_patient_parameters(type: str) -> tuple[str, ...] | None:
    """Return the search parameters that refer to the patient of a resource; None for types that are about no patient.

    Some types that are about a patient are not in R4's compartment of the patient, such as Task and Device.
    """
    if type in list_compartment_members(PATIENT):
        return compartment_parameters(PATIENT, type)
    return ("patient",) if "patient" in get_parameters(type) else None


def check_compartment(transaction: Transaction, owner: str, id: str) -> None:
    """Refuse to search a compartment other than that of the token's patient."""
    access = transaction.access
    is_own = access is None or (owner == PATIENT and id == access.patient)
    if access is not None and not is_own and any(scope.level == "patient" for scope in access.scopes):
        raise _outside(access, f"{owner}/{id}")


def restrict_search(transaction: Transaction, query: SearchQuery) -> SearchQuery:
    """Restrict a search to what the access token covers; refuse types, chains and `_has` that it cannot cover."""
    access = transaction.access
    if access is None:
        return query
    if not query.type and not any(name == "_type" for name, _ in query.pairs):
        check_permission(access, "search", "")
    for type, criteria in query.criteria_by_type:
        if not access.allows(type, "search"):
            raise insufficient_scope(access, f"the scopes of the access token do not cover searching {type}")
        for chained in _list_chained_types(criteria):
            check_permission(access, "search", chained)
    restricted = tuple(
        (type, (*criteria, *_limit(access, type, query.base))) for type, criteria in query.criteria_by_type
    )
    return replace(query, criteria_by_type=restricted)


def _list_chained_types(criteria: Iterable[Criterion]) -> Iterator[str]:
    """Yield the types that chained parameters and `_has` search besides the type of the result."""
    for criterion in criteria:
        match criterion:
            case AnyCriterion():
                yield from _list_chained_types(criterion.criteria)
            case ChainCriterion():
                yield from (type for type, _ in criterion.inner)
                yield from _list_chained_types(inner for _, inner in criterion.inner)
            case ReverseChainCriterion():
                yield criterion.type
                yield from _list_chained_types([criterion.inner])


def _limit(access: AccessGrant, type: str, base: str) -> Iterator[Criterion]:
    """Yield the criterion that limits a search to the patient of the token, if it is limited."""
    if not access.is_limited(type, "search"):
        return
    if type in SHARED_TYPES:
        raise insufficient_scope(access, f"an access token for one patient does not cover {type}")
    if type == PATIENT:
        yield IdCriterion(frozenset({access.patient}))
    elif (names := list_patient_parameters(type)) is not None:
        yield build_compartment_criterion(type, names, f"{PATIENT}/{access.patient}", base)


def _outside(access: AccessGrant, key: str) -> FhirRefusal:
    return insufficient_scope(access, f"{key[:140]} is not in the record of Patient/{access.patient}")
