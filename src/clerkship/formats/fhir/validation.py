"""Validate resources of R4: structure, cardinality, codes, references and invariants."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.issue import Issue, IssueCode
from clerkship.formats.fhir.narrative import find_narrative_error
from clerkship.formats.fhir.primitives import PRIMITIVES
from clerkship.formats.fhir.resource import Resource
from clerkship.formats.fhir.type_rules import ElementRule, TypeRules, get_type_rules
from clerkship.model.names import find_nearest_name

_MAX_LENGTH = 80
_MAX_NAMES = 16


def quote_value(value: Any) -> str:
    """Return a value quoted and shortened."""
    if isinstance(value, str):
        return repr(value) if len(value) <= _MAX_LENGTH else f"{value[:_MAX_LENGTH]!r}..."
    return "true" if value is True else "false" if value is False else str(value)[:_MAX_LENGTH]


def quote_name(name: str) -> str:
    """Return any text as a name in FHIRPath."""
    return name if len(name) <= _MAX_LENGTH and name.isidentifier() else f"`{name[:_MAX_LENGTH]}`"


def describe_json_type(value: Any) -> str:
    """Return the JSON type of a value, such as `a string`."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return "null" if value is None else f"a Python {type(value).__name__}"


def join_names(names: Iterable[str]) -> str:
    """Join names with commas; of many, only the first ones."""
    every = tuple(names)
    more = f" ... ({len(every)} in all)" if len(every) > _MAX_NAMES else ""
    return ", ".join(every[:_MAX_NAMES]) + more


def suggest_name(name: str, rules: TypeRules) -> str:
    """Return a suggestion for a name that a type does not have."""
    spelled = [spelling for spelling, choice in rules.choices.items() if choice == name]
    if spelled:
        return f": it is written with its type ({join_names(spelled)})"
    nearest = find_nearest_name(name[:_MAX_LENGTH], rules.elements)
    return f"; {nearest}?" if nearest is not None else ""


MAX_DEPTH = 100
"""Maximum nesting of objects. R4 sets no limit; its examples have at most 20 levels."""
MAX_ISSUES = 1000
"""Maximum number of issues; if there are more, the last one says so."""
_REFUSED_CODES = frozenset(("structure", "value", "too-long"))
_DEFINITION_URL = "http://hl7.org/fhir/StructureDefinition/"
_ID = r"[A-Za-z0-9\-.]{1,64}"
_restful = re.compile(rf"(https?://\S+/)?([A-Z][A-Za-z]+)/{_ID}(?:/_history/{_ID})?").fullmatch
_absolute = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:").match
_conditional = re.compile(r"([A-Z][A-Za-z]+)\?\S").match


def validate(resource: Resource) -> list[Issue]:
    """Return all issues of a resource, in the order of its elements; none if it is valid."""
    check = _Validation()
    check.check_resource(resource, "", 0)
    return check.issues


def split_lenient(issues: Iterable[Issue]) -> tuple[list[Issue], list[Issue]]:
    """Split issues into those that a lenient server refuses and those that it accepts.

    It refuses what it cannot index or show: every known element must have the JSON type and format of R4. It accepts
    unknown elements, wrong cardinality, empty elements, codes outside of the value set, wrong reference targets and
    violated invariants.
    """
    refused: list[Issue] = []
    through: list[Issue] = []
    for issue in issues:
        (refused if issue.code in _REFUSED_CODES or issue.severity == "fatal" else through).append(issue)
    return refused, through


class _Validation:
    """One pass over one resource."""

    __slots__ = ("fragments", "issues")

    def __init__(self) -> None:
        self.issues: list[Issue] = []
        self.fragments: list[tuple[str, str, ElementRule]] = []
        """References to contained resources: location, reference and rule."""

    def add_issue(self, code: IssueCode, where: str, text: str, json_path: str = "") -> None:
        """Add an issue at a FHIRPath; `json_path` is the location in JSON if it differs, as for a choice."""
        if len(self.issues) < MAX_ISSUES:
            self.issues.append(Issue("error", code, f"{json_path or where}: {text}", where))
        elif len(self.issues) == MAX_ISSUES:
            self.issues.append(
                Issue("error", "too-costly", f"more than {MAX_ISSUES} issues; the others are not listed")
            )

    def check_resource(self, value: Any, path: str, depth: int, *, contained: bool = False) -> None:
        """Check a resource: at the top, contained, or in a Bundle or Parameters."""
        if not isinstance(value, dict):
            self.add_issue("structure", path, f"{describe_json_type(value)}; expected a resource", path or "resource")
            return
        type = value.get("resourceType")
        if not isinstance(type, str) or type not in RESOURCE_TYPES:
            self.add_issue(
                "structure", path, _describe_type_error(value), f"{path}.resourceType" if path else "resourceType"
            )
            return
        if contained:
            self._check_contained(value, path)
            self.check_object(value, get_type_rules(type), path, depth)
            return
        outer, self.fragments = self.fragments, []
        self.check_object(value, get_type_rules(type), path or type, depth)
        if self.fragments or "contained" in value:
            self._check_contained_references(value, path or type)
        self.fragments = outer

    def check_object(self, value: Any, rules: TypeRules, path: str, depth: int) -> None:
        """Check an object: each of its elements, then missing ones."""
        if not isinstance(value, dict):
            self.add_issue("structure", path, f"{describe_json_type(value)}; expected an object ({rules.name})")
            return
        if depth > MAX_DEPTH:
            self.add_issue("too-long", path, f"nested more than {MAX_DEPTH} deep")
            return
        known = (rules.elements or rules.compile()).get
        for name, item in value.items():
            rule = known(name)
            if rule is None:
                self._check_unknown_name(name, value, rules, path, depth)
            elif (single := rule.single_test) is not None:
                if not single(item):
                    self._report_primitive(item, rule, f"{path}.{rule.label}", f"{path}.{name}")
            elif rule.many:
                self._check_list(item, rule, name, value, path, depth)
            elif (plain := rule.plain_rules) is not None:
                self.check_object(item, plain, f"{path}.{rule.label}", depth + 1)
            else:
                self._check_item(item, rule, f"{path}.{rule.label}", depth + 1)
        if not value or (len(value) < 2 and "id" in value and rules.is_single_object):
            self.add_issue("invariant", path, "empty; omit it (ele-1: an element has a value or children)")
        if rules.has_object_checks:
            self._check_object_rules(value, rules, path)

    def _check_object_rules(self, value: Mapping[str, Any], rules: TypeRules, path: str) -> None:
        """Check mandatory elements, choices and invariants of an object."""
        for name in rules.mandatory:
            if name not in value and not _is_extended(value.get("_" + name)):
                self.add_issue("required", f"{path}.{name}", "missing, and mandatory")
        if rules.choices:
            self._check_choices(value, rules, path)
        for key, text, is_satisfied in rules.invariants:
            if not is_satisfied(value):
                self.add_issue("invariant", path, f"{text} ({key})")

    def _check_choices(self, value: Mapping[str, Any], rules: TypeRules, path: str) -> None:
        chosen: dict[str, str] = {}
        for name in value:
            json_path = str(name).removeprefix("_")
            choice = rules.choices.get(json_path)
            if choice is not None and chosen.setdefault(choice, json_path) != json_path:
                first = chosen[choice]
                self.add_issue("structure", f"{path}.{choice}", f"{first} and {name}; only one of them is allowed")
        for element in rules.mandatory_choices:
            if element.name not in chosen:
                self.add_issue(
                    "required",
                    f"{path}.{element.name}",
                    f"missing, and mandatory: one of {join_names(element.spellings)}",
                )

    def _check_item(self, item: Any, rule: ElementRule, where: str, depth: int) -> None:
        if rule.type_rules is None:
            self.check_resource(item, where, depth, contained=rule.label == "contained")
            return
        self.check_object(item, rule.type_rules, where, depth)
        if rule.has_extra_checks and isinstance(item, dict):
            self._check_binding_or_reference(item, rule, where)

    def _check_unknown_name(self, name: str, value: Mapping[str, Any], rules: TypeRules, path: str, depth: int) -> None:
        if name == "resourceType" and rules.is_resource:
            return
        if not isinstance(name, str):  # possible in data from Python or YAML
            self.add_issue("structure", path, f"{quote_value(name)} is not a name of an element")
            return
        rule = rules.elements.get(name[1:]) if name.startswith("_") else None
        if rule is not None and rule.test is not None and not rule.element.bare:
            self._check_primitive_extension(value[name], rule, value.get(name[1:]), f"{path}.{rule.label}", depth)
            return
        near = (
            suggest_name(name, rules) if len(self.issues) < 20 else ""
        )  # suggestions are slow, so only for the first issues
        self.add_issue("invalid", f"{path}.{quote_name(name)}", f"{rules.name} has no such element{near}")

    def _check_primitive_extension(self, item: Any, rule: ElementRule, value: Any, where: str, depth: int) -> None:
        """Check `_birthDate`, the id and extensions of `birthDate` (R4 §2.6.2.2)."""
        if rule.many:
            self._check_primitive_extensions(item, value, where, depth)
            return
        self.check_object(item, get_type_rules("Element"), where, depth + 1)
        if value is None and isinstance(item, dict) and not _is_extended(item):
            self.add_issue("invariant", where, "neither value nor extension (ele-1)")

    def _check_primitive_extensions(self, item: Any, value: Any, where: str, depth: int) -> None:
        """Check that values and extensions are lists of one length, with null for missing ones (R4 §2.6.2.2)."""
        if not isinstance(item, list) or not item:
            self.add_issue(
                "structure", where, f"{describe_json_type(item)}; expected a list of extensions, one for each value"
            )
            return
        values = value if isinstance(value, list) else [None] * len(item)
        if len(values) != len(item):
            self.add_issue("structure", where, f"{len(values)} values and {len(item)} extensions; fill up with null")
        for number, one in enumerate(item):
            if one is not None:
                self.check_object(one, get_type_rules("Element"), f"{where}[{number}]", depth + 1)
            if (number >= len(values) or values[number] is None) and not _is_extended(one):
                self.add_issue("invariant", f"{where}[{number}]", "neither value nor extension (ele-1)")

    def _check_list(
        self, item: Any, rule: ElementRule, name: str, value: Mapping[str, Any], path: str, depth: int
    ) -> None:
        where = f"{path}.{rule.label}"
        if not isinstance(item, list):
            self.add_issue(
                "structure", where, f"{describe_json_type(item)}; expected a list of {rule.type}", f"{path}.{name}"
            )
        elif not item:
            self.add_issue("invariant", where, "an empty list; omit it (ele-1)", f"{path}.{name}")
        elif rule.test is not None:
            for number, one in enumerate(item):
                if not rule.test(one) and not (one is None and "_" + name in value):  # null with extensions
                    self._report_primitive(one, rule, f"{where}[{number}]", f"{where}[{number}]")
        elif (plain := rule.plain_rules) is not None:
            for number, one in enumerate(item):
                self.check_object(one, plain, f"{where}[{number}]", depth + 1)
        else:
            for number, one in enumerate(item):
                self._check_item(one, rule, f"{where}[{number}]", depth + 1)

    def _report_primitive(self, item: Any, rule: ElementRule, where: str, json_path: str) -> None:
        if item is None:
            self.add_issue("structure", where, "null is not a value; omit the element", json_path)
        elif isinstance(item, dict | list):
            self.add_issue("structure", where, f"{describe_json_type(item)}; expected one {rule.type}", json_path)
        elif not PRIMITIVES[rule.type].test(item):
            self._report_malformed(item, rule.type, where, json_path)
        elif rule.codes is not None:
            every = [one for codes in rule.codes.values() for one in codes]
            self.add_issue("code-invalid", where, f"{quote_value(item)} is not one of {join_names(every)}", json_path)

    def _report_malformed(self, item: Any, type: str, where: str, json_path: str) -> None:
        primitive, json_type = PRIMITIVES[type], describe_json_type(item)
        if json_type.split()[-1] != primitive.json:
            self.add_issue(
                "structure",
                where,
                f"{quote_value(item)} is {json_type}; {type} is written as a JSON {primitive.json}",
                json_path,
            )
        elif type == "xhtml" and (problem := find_narrative_error(item)) is not None:
            self.add_issue(problem.code, where, str(problem), json_path)
        else:
            self.add_issue("value", where, f"{quote_value(item)} is not {primitive.description}", json_path)

    def _check_binding_or_reference(self, item: Mapping[str, Any], rule: ElementRule, where: str) -> None:
        if rule.codes is None:
            self._check_reference(item, rule, where)
        elif not _is_coded(item, rule.codes):
            codes_text = "; ".join(f"{system}: {join_names(codes)}" for system, codes in rule.codes.items())
            self.add_issue("code-invalid", where, f"no coding is one of {codes_text}")

    def _check_reference(self, item: Mapping[str, Any], rule: ElementRule, where: str) -> None:
        text = item.get("reference")
        type: str | None = None
        if isinstance(text, str) and text:
            if text[0] == "#":
                self.fragments.append((where, text, rule))
            else:
                type = _parse_reference_type(text)
                if type == "":
                    expected = "Type/id with a type of R4, an absolute URL, urn:uuid:... or #id of something contained"
                    self.add_issue(
                        "value", f"{where}.reference", f"{quote_value(text)} is not a reference; expected {expected}"
                    )
        value = item.get("type")
        if isinstance(value, str) and (named := value.removeprefix(_DEFINITION_URL)) in RESOURCE_TYPES:
            if type and type != named:
                self.add_issue("invalid", f"{where}.type", f"is {named}, but the reference is to {type}")
            type = type or named
        if type:
            self._check_target(type, rule, where)

    def _check_target(self, type: str, rule: ElementRule, where: str) -> None:
        targets = rule.element.targets
        if targets and type not in targets:
            self.add_issue("invalid", where, f"refers to {type}; it may refer to {join_names(sorted(targets))}")

    def _check_contained_references(self, value: Resource, path: str) -> None:
        """Check that references by #id have a target (ref-1), and that contained resources are referred to (dom-3)."""
        contained = value.get("contained")
        inside: list[Any] = contained if isinstance(contained, list) else []
        types = {one["id"]: one.get("resourceType") for one in inside if _has_id(one)}
        for where, text, rule in self.fragments:
            type = types.get(text[1:]) if text != "#" else value["resourceType"]
            if type is None:
                self.add_issue(
                    "invariant", f"{where}.reference", f"nothing contained has the id {quote_value(text[1:])} (ref-1)"
                )
            elif isinstance(type, str) and type in RESOURCE_TYPES:
                self._check_target(type, rule, where)
        if inside:
            self._check_contained_is_used(inside, value, path)

    def _check_contained_is_used(self, inside: list[Any], value: Resource, path: str) -> None:
        used = {text for _, text, _ in self.fragments}
        loose = [number for number, one in enumerate(inside) if not (_has_id(one) and f"#{one['id']}" in used)]
        more = _find_fragments(value) if loose else set()  # a canonical can refer to a contained resource too
        for number in loose:
            one = inside[number]
            if not (_has_id(one) and f"#{one['id']}" in more) and "#" not in _find_fragments(one):
                text = "it is not referenced by its id, and does not refer to its container (dom-3)"
                self.add_issue("invariant", f"{path}.contained[{number}]", text)

    def _check_contained(self, value: Resource, path: str) -> None:
        if "contained" in value:
            self.add_issue("invariant", f"{path}.contained", "a contained resource cannot contain resources (dom-2)")
        meta = value.get("meta")
        for name in ("versionId", "lastUpdated", "security"):
            if isinstance(meta, dict) and name in meta:
                key = "dom-5" if name == "security" else "dom-4"
                self.add_issue("invariant", f"{path}.meta.{name}", f"a contained resource cannot have it ({key})")


def _describe_type_error(value: Resource) -> str:
    if "resourceType" not in value:
        return "missing; a resource requires its type"
    return f"{quote_value(value['resourceType'])} is not a type of resource in R4"


def _is_extended(companion: Any) -> bool:
    return isinstance(companion, dict) and "extension" in companion


def _is_coded(item: Mapping[str, Any], codes: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether one coding is in the value set; an element with only extensions is accepted."""
    codings = item.get("coding")
    if not isinstance(codings, list):
        return "extension" in item and "text" not in item
    pairs = [(one.get("system", ""), one.get("code")) for one in codings if isinstance(one, dict)]
    return any(code in codes.get(system, ()) for system, code in pairs if isinstance(system, str))


def _has_id(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("id"), str)


def _find_fragments(value: Any) -> set[str]:
    """Return all texts that begin with #, at any depth."""
    fragments: set[str] = set()
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if item.startswith("#"):
                fragments.add(item)
        elif isinstance(item, dict | list):
            pending.extend(item.values() if isinstance(item, dict) else item)
    return fragments


def _parse_reference_type(text: str) -> str | None:
    """Return the type of a reference; None if the text does not have it, "" if it is not a reference."""
    match = _restful(text)
    if match is not None:
        type = match[2]
        return type if type in RESOURCE_TYPES else None if match[1] else ""
    if _absolute(text):
        return None
    conditional = _conditional(text)
    return conditional[1] if conditional is not None and conditional[1] in RESOURCE_TYPES else ""
