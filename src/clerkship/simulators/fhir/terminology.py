"""`$expand`, `$validate-code` and `$lookup` (R4 terminology service), for the code systems in use."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import Resource, list_objects, render_resource
from clerkship.formats.fhir.terminology import Concept, Concepts, Terminology, filter_concepts, is_same_name
from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Request
from clerkship.simulators.fhir.access import insufficient_scope
from clerkship.simulators.fhir.events import CodesRead
from clerkship.simulators.fhir.http import GENERAL_PARAMETERS, FhirRequest, FhirRoute
from clerkship.simulators.fhir.outcome import FHIR_JSON, FhirRefusal, refusal, refusal_from_invalid
from clerkship.simulators.fhir.state import format_instant
from clerkship.simulators.fhir.transaction import FhirResponse, Interaction, Transaction, interaction
from clerkship.simulators.fhir.write import get_existing

_STATUSES = {"not-found": 404, "not-supported": 422}
"""The status of each kind of refusal; 400 for others."""
_ALWAYS_SO = frozenset({"activeOnly", "excludeNested", "excludeNotForUI", "excludePostCoordinated"})
"""Parameters of `$expand` for what every expansion here is: a flat list of codes that can be chosen."""
_CODE_PARAMETERS = frozenset({"code", "system", "display", "coding", "codeableConcept"})


class TerminologyInput(Frozen):
    """The input of a terminology operation."""

    id: str = ""
    """The id of the ValueSet or CodeSystem; empty if the operation is on the type."""
    parameters: dict[str, Any] = {}
    """The values of the parameters: texts, or what a Parameters resource has."""

    def text(self, name: str) -> str:
        """Return a parameter that is a text; empty if it is not given."""
        value = self.parameters.get(name, "")
        if not isinstance(value, str):
            raise refusal(400, "value", f"`{name}` must be a text")
        return value

    def number(self, name: str) -> int | None:
        """Return a parameter that is a whole number; None if it is not given."""
        value = str(self.parameters.get(name, ""))
        if value and not (value.isascii() and value.isdigit() and len(value) <= 9):
            raise refusal(400, "value", f"`{name}` must be a whole number, not {value[:80]}")
        return int(value) if value else None

    def object(self, name: str) -> dict[str, Any] | None:
        """Return a parameter that is an object or a resource; None if it is not given."""
        value = self.parameters.get(name)
        if value is not None and not isinstance(value, dict):
            raise refusal(400, "value", f"`{name}` must be in a Parameters resource, with its own type")
        return value


@interaction(tool=False, scoped=True)
def expand(transaction: Transaction, input: TerminologyInput) -> FhirResponse:
    """List the codes of a value set (FHIR R4 ValueSet/$expand)."""
    _check_access(transaction, "ValueSet")
    terminology = Terminology(transaction)
    url, concepts = _expand(transaction, terminology, input)
    text, offset, count = input.text("filter"), input.number("offset") or 0, input.number("count")
    matches = filter_concepts(concepts, text)
    page = matches[offset:] if count is None else matches[offset : offset + count]
    parameters = {
        "valueString": ("filter", text or None),
        "valueInteger": ("count", count),
        "valueBoolean": ("limitedExpansion", terminology.is_limited or None),
    }
    expansion: Resource = {
        "timestamp": format_instant(transaction.action.now),
        "total": len(matches),
        "offset": offset,
        "parameter": [{"name": name, type: value} for type, (name, value) in parameters.items() if value is not None],
        "contains": [{name: value for name, value in each._asdict().items() if value} for each in page],
    }
    expansion = {name: value for name, value in expansion.items() if value != []}
    value_set = {"resourceType": "ValueSet", "url": url, "status": "active", "expansion": expansion}
    transaction.note(CodesRead(operation="$expand", url=url, text=text, total=len(matches)))
    return FhirResponse(200, render_resource({name: value for name, value in value_set.items() if value}))


@interaction(tool=False, scoped=True)
def validate_code(transaction: Transaction, input: TerminologyInput) -> FhirResponse:
    """Check whether a code is in a value set, with its display (FHIR R4 ValueSet/$validate-code)."""
    _check_access(transaction, "ValueSet")
    url, concepts = _expand(transaction, Terminology(transaction), input)

    def check(given: Concept) -> tuple[bool, str, str]:
        matches = [each for each in concepts.values() if each.code == given.code and given.system in ("", each.system)]
        if not matches:
            return False, f"{_name(given)} is not in the value set {url}", ""
        return _check_display(given, [matches[0].display])

    return _validate(transaction, url, input, check)


@interaction(tool=False, scoped=True)
def validate_system_code(transaction: Transaction, input: TerminologyInput) -> FhirResponse:
    """Check whether a code is in a code system, with its display (FHIR R4 CodeSystem/$validate-code)."""
    _check_access(transaction, "CodeSystem")
    url = _read_stored_url(transaction, "CodeSystem", input.id) if input.id else input.text("url")

    def check(given: Concept) -> tuple[bool, str, str]:
        system = Terminology(transaction).find_system(url or given.system)
        if given.system not in ("", system.url):
            return False, f"{_name(given)} is not of the code system {system.url}", ""
        if given.code not in system.names:
            kind = "" if system.is_complete else f"one of the {len(system.names)} codes that this server knows "
            return False, f"{given.code!r} is not {kind or 'a code '}of {system.url}", ""
        return _check_display(given, system.names[given.code])

    return _validate(transaction, url, input, check)


@interaction(tool=False, scoped=True)
def lookup(transaction: Transaction, input: TerminologyInput) -> FhirResponse:
    """Return the name of a code, and that of its system (FHIR R4 CodeSystem/$lookup)."""
    _check_access(transaction, "CodeSystem")
    [given, *_] = _read_codes(input)
    if not given.system:
        raise refusal(400, "required", "`system` is missing: the URL of the code system")
    try:
        system = Terminology(transaction).find_system(given.system)
    except FhirError as error:
        raise _refuse(error) from None
    if given.code not in system.names:
        raise refusal(404, "not-found", f"{given.code[:80]!r} is not a code of {system.url} that this server knows")
    display, *others = system.names[given.code] or [given.code]
    transaction.note(CodesRead(operation="$lookup", url=system.url, code=given.code, total=1))
    designations = ({"name": "designation", "part": [{"name": "value", "valueString": each}]} for each in others)
    named = [{"name": "name", "valueString": system.title}, {"name": "display", "valueString": display}]
    return _respond([*named, *designations])


def _check_access(transaction: Transaction, type: str) -> None:
    """Refuse tokens that do not cover a type, or are for one patient: the codes in use are those of all patients."""
    access = transaction.access
    if access is not None and (not access.allows(type, "read") or access.is_limited(type, "read")):
        raise insufficient_scope(access, f"the scopes of the access token do not cover the codes of every {type}")


def _expand(transaction: Transaction, terminology: Terminology, input: TerminologyInput) -> tuple[str, Concepts]:
    """Return the URL and the codes of the value set that is meant by its id, its URL, or given itself."""
    given, url = input.object("valueSet"), input.text("url")
    try:
        if given is not None:
            return str(given.get("url", "")), terminology.expand_resource(given)
        if input.id:
            resource = _read_stored(transaction, "ValueSet", input.id)
            return str(resource.get("url", "")), terminology.expand_resource(resource)
        if url:
            return url, terminology.expand(url)
    except FhirError as error:
        raise _refuse(error) from None
    raise refusal(400, "required", "`url` is missing: the URL of the value set")


def _read_stored(transaction: Transaction, type: str, id: str) -> Resource:
    get_existing(transaction, f"{type}/{id}")
    return transaction.resource(f"{type}/{id}") or {}


def _read_stored_url(transaction: Transaction, type: str, id: str) -> str:
    url = str(_read_stored(transaction, type, id).get("url", ""))
    if not url:
        raise refusal(422, "business-rule", f"{type}/{id} has no url")
    return url


def _refuse(error: FhirError) -> FhirRefusal:
    return refusal_from_invalid(error, _STATUSES.get(error.issues[0].code, 400))


def _read_codes(input: TerminologyInput) -> list[Concept]:
    """Return the code that is given, or the codings of the concept that is given."""
    coding, concept = input.object("coding"), input.object("codeableConcept")
    codings = list_objects(concept, "coding") if concept is not None else [coding] if coding is not None else []
    codes = [Concept(*(str(each.get(name, "")) for name in Concept._fields)) for each in codings if "code" in each]
    if not codings and input.text("code"):
        codes = [Concept(input.text("system"), input.text("code"), input.text("display"))]
    if not codes:
        raise refusal(400, "required", "`code` with `system`, or `coding`, is missing")
    return codes


def _check_display(given: Concept, names: list[str]) -> tuple[bool, str, str]:
    """Return whether the display is one of the names of the code; the message if not; and the preferred name."""
    preferred = names[0] if names else ""
    if not given.display or not preferred or any(is_same_name(given.display, name) for name in names):
        return True, "", preferred
    return False, f"{given.display[:200]!r} is not a name of {_name(given)}; its name is {preferred!r}", preferred


def _name(given: Concept) -> str:
    return f"{given.code[:80]!r}" + (f" of {given.system[:200]}" if given.system else "")


def _validate(
    transaction: Transaction, url: str, input: TerminologyInput, check: Callable[[Concept], tuple[bool, str, str]]
) -> FhirResponse:
    """Return the outcome for the first code that is valid, or for the first."""
    given = _read_codes(input)
    try:
        results = [check(each) for each in given]
    except FhirError as error:
        raise _refuse(error) from None
    is_valid, message, display = next((each for each in results if each[0]), results[0])
    event = CodesRead(operation="$validate-code", url=url or given[0].system, code=given[0].code, total=int(is_valid))
    transaction.note(event)
    parts = [{"name": "result", "valueBoolean": is_valid}]
    told = {"message": message, "display": display}
    return _respond([*parts, *({"name": name, "valueString": text} for name, text in told.items() if text)])


def _respond(parts: list[dict[str, Any]]) -> FhirResponse:
    return FhirResponse(200, render_resource({"resourceType": "Parameters", "parameter": parts}))


def _read_input(known: frozenset[str], request: FhirRequest) -> TerminologyInput:
    """Read the parameters from the query, and from a Parameters resource in the body."""
    values: dict[str, Any] = {name: value for name, value in request.pairs if name not in GENERAL_PARAMETERS}
    if request.has_body:
        values |= dict(_list_parameters(request.parse_body()))
    for name in values:
        if name not in known and request.handling != "lenient":
            raise refusal(
                400, "not-supported", f"unknown parameter `{name[:80]}` (expected: {', '.join(sorted(known))})"
            )
    return TerminologyInput(id=request.params.get("id", ""), parameters=values)


def _list_parameters(data: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(data, dict) or data.get("resourceType") != "Parameters":
        raise refusal(400, "structure", "expected a Parameters resource")
    for number, part in enumerate(list_objects(data, "parameter")):
        values = [value for name, value in part.items() if name == "resource" or name.startswith("value")]
        if not isinstance(part.get("name"), str) or len(values) != 1:
            location = f"Parameters.parameter[{number}]"
            raise refusal(400, "value", "a parameter must have a name and one value", location)
        yield part["name"], values[0]


def _is_heavy(request: Request) -> bool:
    return True


TERMINOLOGY_OPERATIONS: Mapping[str, tuple[Interaction[Any], frozenset[str]]] = {
    "/ValueSet/{id}/$expand": (expand, _ALWAYS_SO | {"url", "valueSet", "filter", "offset", "count"}),
    "/ValueSet/{id}/$validate-code": (validate_code, _CODE_PARAMETERS | {"url", "valueSet"}),
    "/CodeSystem/{id}/$validate-code": (validate_system_code, _CODE_PARAMETERS | {"url"}),
    "/CodeSystem/$lookup": (lookup, _CODE_PARAMETERS - {"display", "codeableConcept"}),
}
"""The operations and their parameters, by path. An operation on one resource is also one on the type."""


def _build_routes() -> Iterator[FhirRoute]:
    for instance_path, (operation, known) in TERMINOLOGY_OPERATIONS.items():
        read, name, text = partial(_read_input, known), operation.name, operation.description
        paths = {instance_path.replace("/{id}", ""): operation}
        if instance_path not in paths:
            paths[instance_path] = operation.copy_as(f"{name}_instance", f"{text} It is a stored one.")
        for path, get in paths.items():
            post = operation.copy_as(f"{get.name}_by_post", f"{get.description} The parameters are in the body.")
            yield FhirRoute("GET", path, get, read, is_heavy=_is_heavy)
            yield FhirRoute("POST", path, post, read, media=FHIR_JSON, is_heavy=_is_heavy)


TERMINOLOGY_ROUTES = tuple(_build_routes())
