"""Parse one search parameter to a criterion: modifiers, chains, `_has`, composites (R4 §3.1.1.3 and following)."""

from collections.abc import Sequence

from clerkship.formats.fhir.issue import Issue, fhir_error
from clerkship.formats.fhir.resource import ID_PATTERN
from clerkship.formats.fhir.search.query import (
    DEFAULT_INDEX_KINDS,
    AnyCriterion,
    ChainCriterion,
    CompositeCriterion,
    Criterion,
    IdCriterion,
    IndexKind,
    MissingCriterion,
    ReferenceValue,
    ReverseChainCriterion,
    SearchContext,
    ValueCriterion,
)
from clerkship.formats.fhir.search.values import (
    parse_boolean,
    parse_value,
    split_alternatives,
    split_unescaped,
    unescape,
)
from clerkship.formats.fhir.search_parameters import (
    CompositeComponent,
    SearchParameter,
    get_parameters,
    refused_parameters,
    searchable_types,
)
from clerkship.model.names import did_you_mean

MAX_CHAIN_LENGTH = 10
"""The maximum number of links in a chain."""
MODIFIERS: dict[str, frozenset[str]] = {
    "string": frozenset({"exact", "contains"}),
    "token": frozenset({"not", "text", "of-type"}),
    "reference": frozenset({"identifier"}),
    "uri": frozenset({"above", "below"}),
}
"""Allowed modifiers by parameter type, besides `:missing` and, for references, the name of a type."""
_MODIFIER_INDEX_KINDS: dict[str, IndexKind] = {
    "text": "label",
    "of-type": "of-type",
    "exact": "exact",
    "identifier": "link-identifier",
}


class UnknownParameter(Exception):
    """A parameter that is not supported: refused, or ignored and reported if handling is lenient."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.issue = Issue("error", "not-supported", text)


def parse_criterion(type: str, name: str, text: str, context: SearchContext) -> Criterion:
    """Parse one `name=text` for a resource type; raises UnknownParameter or FhirError."""
    if context.depth > MAX_CHAIN_LENGTH:
        raise fhir_error("too-costly", f"a chain may have at most {MAX_CHAIN_LENGTH} links")
    if name.startswith("_has:"):
        return _parse_reverse_chain(type, name, text, context)
    head, chained, rest = name.partition(".")
    label, _, modifier = head.partition(":")
    parameter = get_parameter(type, label)
    if chained:
        return _parse_chain(get_reference_parameter(type, label), modifier, rest, text, context)
    return _parse_plain_criterion(type, name, parameter, modifier, text, context)


def get_parameter(type: str, label: str) -> SearchParameter:
    """Return a search parameter by name; raises UnknownParameter."""
    parameter = get_parameters(type).get(label)
    if parameter is not None:
        return parameter
    where = f"{type} has no" if type != "Resource" else "the types searched do not all have a"
    reason = refused_parameters(type).get(label)
    if reason:
        raise UnknownParameter(f"{label}: {reason}")
    hint = did_you_mean(label[:80], get_parameters(type))
    raise UnknownParameter(f"{where} search parameter {label!r}" + (f"; {hint}" if hint else ""))


def _parse_plain_criterion(
    type: str, name: str, parameter: SearchParameter, modifier: str, text: str, context: SearchContext
) -> Criterion:
    if modifier == "missing":
        return MissingCriterion(parameter.paths, parse_boolean(name, text))
    _check_modifier(name, parameter, modifier)
    if parameter.name == "_id":
        return _parse_ids(name, modifier, text)
    if parameter.type == "composite":
        return _parse_composite(name, parameter, text, context)
    values = tuple(parse_value(name, parameter, modifier, part, context) for part in split_alternatives(name, text))
    index_kind = _MODIFIER_INDEX_KINDS.get(modifier, DEFAULT_INDEX_KINDS[parameter.type])
    return ValueCriterion(index_kind, parameter.paths, values, negated=modifier == "not")


def _check_modifier(name: str, parameter: SearchParameter, modifier: str) -> None:
    if not modifier and ":" not in name:
        return
    allowed = MODIFIERS.get(parameter.type, frozenset())
    if parameter.name == "_id":
        allowed = frozenset({"not"})
    if modifier in allowed or (parameter.type == "reference" and modifier in parameter.targets):
        return
    text = ", ".join(f":{each}" for each in sorted(allowed | {"missing"}))
    types = f" or a target type: {', '.join(sorted(parameter.targets)[:9])}" if parameter.targets else ""
    raise fhir_error(
        "not-supported", f"{name}: the modifier :{modifier} is not supported; {parameter.name} takes {text}{types}"
    )


def _parse_ids(name: str, modifier: str, text: str) -> Criterion:
    ids = [unescape(part) for part in split_alternatives(name, text)]
    for id in ids:
        if not ID_PATTERN.fullmatch(id):
            raise fhir_error("value", f"{name}: {id!r} is not an id")
    return IdCriterion(frozenset(ids), negated=modifier == "not")


def _parse_composite(name: str, parameter: SearchParameter, text: str, context: SearchContext) -> Criterion:
    return CompositeCriterion(
        parameter.paths,
        tuple(
            _parse_composite_value(name, parameter.components, part, context) for part in split_alternatives(name, text)
        ),
    )


def _parse_composite_value(
    name: str, components: Sequence[CompositeComponent], text: str, context: SearchContext
) -> tuple[ValueCriterion, ...]:
    parts = split_unescaped(text, "$")
    if len(parts) != len(components) or not all(parts):
        raise fhir_error("value", f"{name} has {len(components)} parts with $ between them, not {text!r}")
    return tuple(
        _parse_component(name, component, part, context) for component, part in zip(components, parts, strict=True)
    )


def _parse_component(name: str, component: CompositeComponent, text: str, context: SearchContext) -> ValueCriterion:
    parameter = SearchParameter(name, component.type, component.paths, searchable_types())
    return ValueCriterion(
        DEFAULT_INDEX_KINDS[component.type], component.paths, (parse_value(name, parameter, "", text, context),)
    )


def get_reference_parameter(type: str, label: str) -> SearchParameter:
    """Return a parameter that can be chained: it has references, not canonical URLs."""
    parameter = get_parameter(type, label)
    if parameter.type != "reference":
        raise fhir_error("invalid", f"{type}.{label} is a {parameter.type}, not a reference: it cannot be chained")
    if all(path.kind != "Reference" for path in parameter.paths):
        raise fhir_error("not-supported", f"{type}.{label} has canonical URLs, which cannot be chained")
    return parameter


def _parse_chain(parameter: SearchParameter, modifier: str, rest: str, text: str, context: SearchContext) -> Criterion:
    head = parameter.name
    if modifier and modifier not in parameter.targets:
        raise fhir_error("not-supported", f"{head}:{modifier}.{rest}: {head} cannot refer to a {modifier}")
    inner: list[tuple[str, Criterion]] = []
    unknown: list[UnknownParameter] = []
    for target in [modifier] if modifier else sorted(parameter.targets):
        try:
            inner.append((target, parse_criterion(target, rest, text, context.next_level)))
        except UnknownParameter as error:
            unknown.append(error)
    if not inner:
        raise (
            unknown[0]
            if len(unknown) == 1
            else UnknownParameter(f"{head}.{rest}: none of its target types has {rest!r}")
        )
    return ChainCriterion(parameter.paths, tuple(inner))


def _parse_reverse_chain(type: str, name: str, text: str, context: SearchContext) -> Criterion:
    _, source, label, rest = [*name.split(":", 3), "", "", ""][:4]
    if not source or not label or not rest:
        raise fhir_error("invalid", f"{name}: write _has:Observation:patient:code=...")
    if source not in searchable_types():
        raise fhir_error("invalid", f"{name}: {source!r} is not a resource type")
    parameter = get_reference_parameter(source, label)
    if type != "Resource" and type not in parameter.targets:
        raise fhir_error("invalid", f"{name}: {label} of {source} cannot refer to a {type}")
    return ReverseChainCriterion(source, parameter.paths, parse_criterion(source, rest, text, context.next_level))


def build_compartment_criterion(type: str, parameters: Sequence[str], key: str, base: str) -> Criterion:
    """Return the criterion of a compartment: one of its parameters refers to the subject."""
    spellings = (key, f"{base.rstrip('/')}/{key}") if base else (key,)
    known_here = get_parameters(type)
    terms = [
        ValueCriterion("link", known_here[name].paths, (ReferenceValue(spellings),))
        for name in parameters
        if name in known_here
    ]
    return AnyCriterion(
        (*terms, IdCriterion(frozenset({key.partition("/")[2]}))) if type == key.partition("/")[0] else tuple(terms)
    )
