"""`$expand`, `$validate-code` and `$lookup` (R4 terminology service), for the code systems in use."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from typing import Annotated, Any

from pydantic import Field, ValidationError

from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import Resource, list_objects, render_resource
from clerkship.formats.fhir.terminology import (
    Concept,
    Concepts,
    Terminology,
    filter_concepts,
    is_same_name,
    read_concept,
)
from clerkship.model.frozen import Frozen
from clerkship.simulators.fhir.events import CodesRead
from clerkship.simulators.fhir.http import GENERAL_PARAMETERS, FhirRequest, FhirRoute, parse_parameters
from clerkship.simulators.fhir.outcome import FHIR_JSON, check_permission, refusal, refusal_from_invalid
from clerkship.simulators.fhir.state import format_instant
from clerkship.simulators.fhir.transaction import FhirResponse, Interaction, InteractionFunction, Transaction
from clerkship.simulators.fhir.write import get_existing

_STATUSES = {"not-found": 404, "not-supported": 422}
"""The status of each kind of refusal; 400 for others."""
_ALWAYS_SO = frozenset({"activeOnly", "excludeNested", "excludeNotForUI", "excludePostCoordinated"})
"""Parameters of `$expand` for what every expansion here is: a flat list of codes that can be chosen."""
_CODE_PARAMETERS = frozenset({"code", "system", "display", "coding", "codeableConcept"})


class TerminologyInput(Frozen):
    """The input of a terminology operation."""

    id: str = ""
    """The id of the ValueSet; empty if the operation is on the type."""
    url: str = ""
    value_set: Annotated[dict[str, Any] | None, Field(alias="valueSet")] = None
    filter: str = ""
    offset: Annotated[int, Field(ge=0)] = 0
    count: Annotated[int | None, Field(ge=0)] = None
    system: str = ""
    code: str = ""
    display: str = ""
    coding: dict[str, Any] | None = None
    concept: Annotated[dict[str, Any] | None, Field(alias="codeableConcept")] = None


Execute = InteractionFunction[TerminologyInput]


def _declare(type: str) -> Callable[[Execute], Interaction[TerminologyInput]]:
    """Declare an operation on a type. What the terminology does not know is refused.

    So are tokens that do not cover the type, or are for one patient: the codes in use are those of all patients.
    """

    def declare(execute: Execute) -> Interaction[TerminologyInput]:
        @wraps(execute)
        def run(transaction: Transaction, input: TerminologyInput) -> FhirResponse:
            if transaction.access is not None:
                check_permission(transaction.access, "read", type)
            try:
                return execute(transaction, input)
            except FhirError as error:
                raise refusal_from_invalid(error, _STATUSES.get(error.issues[0].code, 400)) from None

        return Interaction(run, tool=False, scoped=True)

    return declare


@_declare("ValueSet")
def expand(transaction: Transaction, input: TerminologyInput) -> FhirResponse:
    """List the codes of a value set (FHIR R4 ValueSet/$expand)."""
    terminology = Terminology(transaction)
    url, concepts = _expand(transaction, terminology, input)
    text, offset, count = input.filter, input.offset, input.count
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


@_declare("ValueSet")
def validate_code(transaction: Transaction, input: TerminologyInput) -> FhirResponse:
    """Check whether a code is in a value set, with its display (FHIR R4 ValueSet/$validate-code)."""
    url, concepts = _expand(transaction, Terminology(transaction), input)
    names = {key: [each.display] for key, each in concepts.items()}
    return _validate(transaction, url, _read_codes(input), names, f"in the value set {url}")


@_declare("CodeSystem")
def validate_system_code(transaction: Transaction, input: TerminologyInput) -> FhirResponse:
    """Check whether a code is in a code system, with its display (FHIR R4 CodeSystem/$validate-code)."""
    codes = _read_codes(input)
    system = Terminology(transaction).get_system(input.url or codes[0].system)
    names = {(system.url, code): names for code, names in system.names.items()}
    known = "a code" if system.is_complete else f"one of the {len(names)} codes that this server knows"
    return _validate(transaction, system.url, codes, names, f"{known} of {system.url}")


@_declare("CodeSystem")
def lookup(transaction: Transaction, input: TerminologyInput) -> FhirResponse:
    """Return the name of a code, and that of its system (FHIR R4 CodeSystem/$lookup)."""
    [given, *_] = _read_codes(input)
    if not given.system:
        raise refusal(400, "required", "`system` is missing: the URL of the code system")
    system = Terminology(transaction).get_system(given.system)
    if given.code not in system.names:
        raise refusal(404, "not-found", f"{given.code[:80]!r} is not a code of {system.url} that this server knows")
    display, *others = system.names[given.code] or [given.code]
    transaction.note(CodesRead(operation="$lookup", url=system.url, code=given.code, total=1))
    designations = ({"name": "designation", "part": [{"name": "value", "valueString": each}]} for each in others)
    named = [{"name": "name", "valueString": system.title}, {"name": "display", "valueString": display}]
    return _respond([*named, *designations])


def _expand(transaction: Transaction, terminology: Terminology, input: TerminologyInput) -> tuple[str, Concepts]:
    """Return the URL and the codes of the value set that is meant by its id, its URL, or given itself."""
    given, url = input.value_set, input.url
    if input.id:
        get_existing(transaction, f"ValueSet/{input.id}")
        given = transaction.resource(f"ValueSet/{input.id}")
    if given is not None:
        return str(given.get("url", "")), terminology.expand_resource(given)
    if not url:
        raise refusal(400, "required", "`url` is missing: the URL of the value set")
    return url, terminology.expand(url)


def _read_codes(input: TerminologyInput) -> list[Concept]:
    """Return the code that is given, or the codings of the concept that is given."""
    codings = list_objects(input.concept, "coding") if input.concept is not None else [input.coding or {}]
    codes = [read_concept(each) for each in codings if "code" in each]
    if not codes and input.code:
        codes = [Concept(input.system, input.code, input.display)]
    if not codes:
        raise refusal(400, "required", "`code` with `system`, or `coding`, is missing")
    return codes


def _validate(
    transaction: Transaction,
    url: str,
    codes: Sequence[Concept],
    names: Mapping[tuple[str, str], list[str]],
    description: str,
) -> FhirResponse:
    """Return the outcome for the first code that is valid, or for the first. `names` are those of valid codes."""
    results = [_check_code(each, names, description) for each in codes]
    is_valid, message, display = next((each for each in results if each[0]), results[0])
    transaction.note(CodesRead(operation="$validate-code", url=url, code=codes[0].code, total=int(is_valid)))
    texts = {"message": message, "display": display}
    parts = [{"name": name, "valueString": text} for name, text in texts.items() if text]
    return _respond([{"name": "result", "valueBoolean": is_valid}, *parts])


def _check_code(given: Concept, names: Mapping[tuple[str, str], list[str]], description: str) -> tuple[bool, str, str]:
    """Return whether a code is valid and has the display as one of its names; why not; and its preferred name."""
    name = f"{given.code[:80]!r}" + (f" of {given.system[:200]}" if given.system else "")
    key = next((key for key in names if key[1] == given.code and given.system in ("", key[0])), None)
    if key is None:
        return False, f"{name} is not {description}", ""
    preferred = next(iter(names[key]), "")
    if not given.display or not preferred or any(is_same_name(given.display, each) for each in names[key]):
        return True, "", preferred
    return False, f"{given.display[:200]!r} is not a name of {name}; its name is {preferred!r}", preferred


def _respond(parts: list[dict[str, Any]]) -> FhirResponse:
    return FhirResponse(200, render_resource({"resourceType": "Parameters", "parameter": parts}))


def _read_input(known: frozenset[str], request: FhirRequest) -> TerminologyInput:
    """Read the parameters from the query, and from a Parameters resource in the body."""
    values: dict[str, Any] = {name: value for name, value in request.pairs if name not in GENERAL_PARAMETERS}
    if request.has_body:
        values |= dict(parse_parameters(request.parse_body()))
    for name in values:
        if name not in known and request.handling != "lenient":
            raise refusal(
                400, "not-supported", f"unknown parameter `{name[:80]}` (expected: {', '.join(sorted(known))})"
            )
    try:
        return TerminologyInput(**request.params, **{name: values[name] for name in values if name in _INPUT_NAMES})
    except ValidationError as error:
        [first, *_] = error.errors()
        raise refusal(400, "value", f"`{first['loc'][0]}`: {first['msg']}") from None


_INPUT_NAMES = frozenset({each.alias or name for name, each in TerminologyInput.model_fields.items()} - {"id"})
TERMINOLOGY_OPERATIONS: Mapping[str, tuple[Interaction[Any], frozenset[str]]] = {
    "/ValueSet/{id}/$expand": (expand, _ALWAYS_SO | {"url", "valueSet", "filter", "offset", "count"}),
    "/ValueSet/{id}/$validate-code": (validate_code, _CODE_PARAMETERS | {"url", "valueSet"}),
    "/CodeSystem/$validate-code": (validate_system_code, _CODE_PARAMETERS | {"url"}),
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
            yield FhirRoute("GET", path, get, read, is_heavy=lambda _: True)
            yield FhirRoute("POST", path, post, read, media=FHIR_JSON, is_heavy=lambda _: True)


TERMINOLOGY_ROUTES = tuple(_build_routes())
