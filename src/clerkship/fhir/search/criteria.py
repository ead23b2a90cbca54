"""One parameter of a query to what must hold of a resource: modifiers, chains, `_has`, composites (R4 §3.1.1.3 on)."""

from collections.abc import Sequence

from clerkship.fhir.issue import Issue, invalid
from clerkship.fhir.parameters import Component, Parameter, parameters_of, refused_parameters, searchable_types
from clerkship.fhir.resource import ID
from clerkship.fhir.search.query import (
    ASPECTS,
    AlternativeValues,
    Aspect,
    Chain,
    Criterion,
    Ids,
    Link,
    Meaning,
    Missing,
    Reverse,
    Term,
    Together,
)
from clerkship.fhir.search.values import alternatives, boolean, plain, read, split
from clerkship.model.names import did_you_mean

DEEPEST = 10
"""More links of a chain than this are refused."""
MODIFIERS: dict[str, frozenset[str]] = {
    "string": frozenset({"exact", "contains"}),
    "token": frozenset({"not", "text", "of-type"}),
    "reference": frozenset({"identifier"}),
    "uri": frozenset({"above", "below"}),
}
"""By sort, what may stand behind a parameter's name; `:missing` may always, the name of a type behind a reference's."""
_MODIFIED: dict[str, Aspect] = {
    "text": "label",
    "of-type": "of-type",
    "exact": "exact",
    "identifier": "link-identifier",
}


class Unknown(Exception):
    """A parameter that is not searched by: refused, or, by a lenient server, left out and reported."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.issue = Issue("error", "not-supported", text)


def parse_criterion(type: str, name: str, text: str, meaning: Meaning) -> Criterion:
    """What one `name=text` asks of resources of a type; raises Unknown or Invalid."""
    if meaning.depth > DEEPEST:
        raise invalid("too-costly", f"a chain of more than {DEEPEST} links is not followed")
    if name.startswith("_has:"):
        return _reverse(type, name, text, meaning)
    head, chained, rest = name.partition(".")
    label, _, modifier = head.partition(":")
    parameter = known(type, label)
    if chained:
        return _chain(linking(type, label), modifier, rest, text, meaning)
    return _single(type, name, parameter, modifier, text, meaning)


def known(type: str, label: str) -> Parameter:
    """A parameter by its name."""
    found = parameters_of(type).get(label)
    if found is not None:
        return found
    where = f"{type} has no" if type != "Resource" else "the types searched do not all have a"
    reason = refused_parameters(type).get(label)
    if reason:
        raise Unknown(f"{label}: {reason}")
    hint = did_you_mean(label[:80], parameters_of(type))
    raise Unknown(f"{where} search parameter {label!r}" + (f"; {hint}" if hint else ""))


def _single(type: str, name: str, parameter: Parameter, modifier: str, text: str, meaning: Meaning) -> Criterion:
    if modifier == "missing":
        return Missing(parameter.arms, boolean(name, text))
    _check_modifier(name, parameter, modifier)
    if parameter.name == "_id":
        return _ids(name, modifier, text)
    if parameter.type == "composite":
        return _together(name, parameter, text, meaning)
    values = tuple(read(name, parameter, modifier, part, meaning) for part in alternatives(name, text))
    aspect = _MODIFIED.get(modifier, ASPECTS[parameter.type])
    return Term(aspect, parameter.arms, values, negated=modifier == "not")


def _check_modifier(name: str, parameter: Parameter, modifier: str) -> None:
    if not modifier and ":" not in name:
        return
    allowed = MODIFIERS.get(parameter.type, frozenset())
    if parameter.name == "_id":
        allowed = frozenset({"not"})
    if modifier in allowed or (parameter.type == "reference" and modifier in parameter.targets):
        return
    said = ", ".join(f":{each}" for each in sorted(allowed | {"missing"}))
    types = f" or the type that is meant: {', '.join(sorted(parameter.targets)[:9])}" if parameter.targets else ""
    raise invalid(
        "not-supported", f"{name}: the modifier :{modifier} is not known; {parameter.name} takes {said}{types}"
    )


def _ids(name: str, modifier: str, text: str) -> Criterion:
    ids = [plain(part) for part in alternatives(name, text)]
    for id in ids:
        if not ID.fullmatch(id):
            raise invalid("value", f"{name}: {id!r} is not an id")
    return Ids(frozenset(ids), negated=modifier == "not")


def _together(name: str, parameter: Parameter, text: str, meaning: Meaning) -> Criterion:
    return Together(
        parameter.arms,
        tuple(_alternative(name, parameter.components, part, meaning) for part in alternatives(name, text)),
    )


def _alternative(name: str, components: Sequence[Component], text: str, meaning: Meaning) -> tuple[Term, ...]:
    parts = split(text, "$")
    if len(parts) != len(components) or not all(parts):
        raise invalid("value", f"{name} has {len(components)} parts with $ between them, not {text!r}")
    return tuple(_term(name, component, part, meaning) for component, part in zip(components, parts, strict=True))


def _term(name: str, component: Component, text: str, meaning: Meaning) -> Term:
    parameter = Parameter(name, component.type, component.arms, searchable_types())
    return Term(ASPECTS[component.type], component.arms, (read(name, parameter, "", text, meaning),))


def linking(type: str, label: str) -> Parameter:
    """A parameter that can be followed: it holds references, not canonical URLs."""
    parameter = known(type, label)
    if parameter.type != "reference":
        raise invalid(
            "invalid", f"{type}.{label} is a {parameter.type}, not a reference: nothing can be followed there"
        )
    if all(arm.kind != "Reference" for arm in parameter.arms):
        raise invalid("not-supported", f"{type}.{label} holds canonical URLs, which are not followed")
    return parameter


def _chain(parameter: Parameter, modifier: str, rest: str, text: str, meaning: Meaning) -> Criterion:
    head = parameter.name
    if modifier and modifier not in parameter.targets:
        raise invalid("not-supported", f"{head}:{modifier}.{rest}: {head} never means a {modifier}")
    inner: list[tuple[str, Criterion]] = []
    unknown: list[Unknown] = []
    for target in [modifier] if modifier else sorted(parameter.targets):
        try:
            inner.append((target, parse_criterion(target, rest, text, meaning.deeper)))
        except Unknown as error:
            unknown.append(error)
    if not inner:
        raise unknown[0] if len(unknown) == 1 else Unknown(f"{head}.{rest}: nothing it may mean has {rest!r}")
    return Chain(parameter.arms, tuple(inner))


def _reverse(type: str, name: str, text: str, meaning: Meaning) -> Criterion:
    _, source, label, rest = [*name.split(":", 3), "", "", ""][:4]
    if not source or not label or not rest:
        raise invalid("invalid", f"{name}: write _has:Observation:patient:code=...")
    if source not in searchable_types():
        raise invalid("invalid", f"{name}: {source!r} is not a resource type")
    parameter = linking(source, label)
    if type != "Resource" and type not in parameter.targets:
        raise invalid("invalid", f"{name}: {label} of {source} never means a {type}")
    return Reverse(source, parameter.arms, parse_criterion(source, rest, text, meaning.deeper))


def compartment_criterion(type: str, parameters: Sequence[str], key: str, base: str) -> Criterion:
    """Being in a compartment: one of its parameters means the resource that the compartment is about."""
    spellings = (key, f"{base.rstrip('/')}/{key}") if base else (key,)
    known_here = parameters_of(type)
    terms = [Term("link", known_here[name].arms, (Link(spellings),)) for name in parameters if name in known_here]
    return AlternativeValues(
        (*terms, Ids(frozenset({key.partition("/")[2]}))) if type == key.partition("/")[0] else tuple(terms)
    )
