"""Whether a resource is one of R4: all that is wrong with its structure, counts, codes and references."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from clerkship.fhir.definitions import RESOURCE_TYPES
from clerkship.fhir.error_text import describe_json_type, join_names, quote_name, quote_value, suggest_name
from clerkship.fhir.issue import Issue, IssueCode
from clerkship.fhir.narrative import find_narrative_error
from clerkship.fhir.primitives import PRIMITIVES
from clerkship.fhir.resource import Resource
from clerkship.fhir.type_rules import ElementRule, TypeRules, get_type_rules

MAX_DEPTH = 100
"""Objects within objects. R4 sets no bound; no resource of its examples goes beyond 20."""
MAX_ISSUES = 1000
"""Issues that are listed; with more, the last one says so."""
_REFUSED_CODES = frozenset(("structure", "value", "too-long"))
_DEFINITION_URL = "http://hl7.org/fhir/StructureDefinition/"
_ID = r"[A-Za-z0-9\-.]{1,64}"
_restful = re.compile(rf"(https?://\S+/)?([A-Z][A-Za-z]+)/{_ID}(?:/_history/{_ID})?").fullmatch
_absolute = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:").match
_conditional = re.compile(r"([A-Z][A-Za-z]+)\?\S").match


def validate(resource: Resource) -> list[Issue]:
    """All that is wrong with it, in the order of its elements; nothing where it is valid."""
    check = _Validation()
    check.resource(resource, "", 0)
    return check.issues


def split_lenient(issues: Iterable[Issue]) -> tuple[list[Issue], list[Issue]]:
    """What a lenient server refuses, and what it lets through.

    It keeps what it can read: every element it knows must have the JSON type and the format that R4 gives it, for who
    indexes and shows it relies on them. It does not ask whether elements are known, enough, not empty, from the right
    value set, mean the right type, or agree with each other.
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
        """References to what the resource contains: where, to what, by which rule."""

    def say(self, code: IssueCode, where: str, text: str, spelled: str = "") -> None:
        """One more issue: at a FHIRPath, which is spelled otherwise in the JSON where it is a choice."""
        if len(self.issues) < MAX_ISSUES:
            self.issues.append(Issue("error", code, f"{spelled or where}: {text}", where))
        elif len(self.issues) == MAX_ISSUES:
            self.issues.append(
                Issue("error", "too-costly", f"more than {MAX_ISSUES} things are wrong; the rest is not listed")
            )

    def resource(self, value: Any, path: str, depth: int, *, contained: bool = False) -> None:
        """A resource: at the top, contained, or in a Bundle or Parameters."""
        if not isinstance(value, dict):
            self.say("structure", path, f"{describe_json_type(value)}, where a resource is due", path or "resource")
            return
        type = value.get("resourceType")
        if not isinstance(type, str) or type not in RESOURCE_TYPES:
            self.say("structure", path, _describe_type_error(value), f"{path}.resourceType" if path else "resourceType")
            return
        if contained:
            self._contained(value, path)
            self.members(value, get_type_rules(type), path, depth)
            return
        outer, self.fragments = self.fragments, []
        self.members(value, get_type_rules(type), path or type, depth)
        if self.fragments or "contained" in value:
            self._local(value, path or type)
        self.fragments = outer

    def members(self, value: Any, made: TypeRules, path: str, depth: int) -> None:
        """An object: each of its elements, then those that are not there."""
        if not isinstance(value, dict):
            self.say("structure", path, f"{describe_json_type(value)}, where an object ({made.name}) is due")
            return
        if depth > MAX_DEPTH:
            self.say("too-long", path, f"nested more than {MAX_DEPTH} deep")
            return
        known = (made.rules or made.compiled()).get
        for name, item in value.items():
            rule = known(name)
            if rule is None:
                self._unlisted(name, value, made, path, depth)
            elif (single := rule.single) is not None:
                if not single(item):
                    self._wrong(item, rule, f"{path}.{rule.label}", f"{path}.{name}")
            elif rule.many:
                self._list(item, rule, name, value, path, depth)
            elif (plain := rule.plain) is not None:
                self.members(item, plain, f"{path}.{rule.label}", depth + 1)
            else:
                self._one(item, rule, f"{path}.{rule.label}", depth + 1)
        if not value or (len(value) < 2 and "id" in value and made.is_whole):
            self.say("invariant", path, "empty; leave it out (ele-1: an element has a value or children)")
        if made.is_demanding:
            self._together(value, made, path)

    def _together(self, value: Mapping[str, Any], made: TypeRules, path: str) -> None:
        """What is asked of all elements of an object: that they are there, and fit each other."""
        for name in made.mandatory:
            if name not in value and not _is_extended(value.get("_" + name)):
                self.say("required", f"{path}.{name}", "missing, and mandatory")
        if made.choices:
            self._choices(value, made, path)
        for key, text, held in made.invariants:
            if not held(value):
                self.say("invariant", path, f"{text} ({key})")

    def _choices(self, value: Mapping[str, Any], made: TypeRules, path: str) -> None:
        chosen: dict[str, str] = {}
        for name in value:
            spelled = str(name).removeprefix("_")
            choice = made.choices.get(spelled)
            if choice is not None and chosen.setdefault(choice, spelled) != spelled:
                first = chosen[choice]
                self.say("structure", f"{path}.{choice}", f"{first} and {name}, where only one of them may be")
        for element in made.needed:
            if element.name not in chosen:
                self.say(
                    "required",
                    f"{path}.{element.name}",
                    f"missing, and mandatory: one of {join_names(element.spellings)}",
                )

    def _one(self, item: Any, rule: ElementRule, where: str, depth: int) -> None:
        if rule.shape is None:
            self.resource(item, where, depth, contained=rule.label == "contained")
            return
        self.members(item, rule.shape, where, depth)
        if rule.after and isinstance(item, dict):
            self._after(item, rule, where)

    def _unlisted(self, name: str, value: Mapping[str, Any], made: TypeRules, path: str, depth: int) -> None:
        if name == "resourceType" and made.is_resource:
            return
        if not isinstance(name, str):  # from Python, or YAML: JSON has no such names
            self.say("structure", path, f"{quote_value(name)} is not a name of an element")
            return
        rule = made.rules.get(name[1:]) if name.startswith("_") else None
        if rule is not None and rule.test is not None and not rule.element.bare:
            self._companion(value[name], rule, value.get(name[1:]), f"{path}.{rule.label}", depth)
            return
        near = suggest_name(name, made) if len(self.issues) < 20 else ""  # a guess takes time; a few are enough
        self.say("invalid", f"{path}.{quote_name(name)}", f"{made.name} has no such element{near}")

    def _companion(self, item: Any, rule: ElementRule, said: Any, where: str, depth: int) -> None:
        """R4 §2.6.2.2: `_birthDate` has the id and the extensions of `birthDate`."""
        if rule.many:
            self._companions(item, said, where, depth)
            return
        self.members(item, get_type_rules("Element"), where, depth + 1)
        if said is None and isinstance(item, dict) and not _is_extended(item):
            self.say("invariant", where, "neither value nor extension (ele-1)")

    def _companions(self, item: Any, said: Any, where: str, depth: int) -> None:
        """R4 §2.6.2.2: two lists of one length, null in one of them where only the other says something."""
        if not isinstance(item, list) or not item:
            self.say(
                "structure", where, f"{describe_json_type(item)}, where extensions are due, as many as there are values"
            )
            return
        values = said if isinstance(said, list) else [None] * len(item)
        if len(values) != len(item):
            self.say("structure", where, f"{len(values)} values and {len(item)} extensions; fill up with null")
        for number, one in enumerate(item):
            if one is not None:
                self.members(one, get_type_rules("Element"), f"{where}[{number}]", depth + 1)
            if (number >= len(values) or values[number] is None) and not _is_extended(one):
                self.say("invariant", f"{where}[{number}]", "neither value nor extension (ele-1)")

    def _list(self, item: Any, rule: ElementRule, name: str, value: Mapping[str, Any], path: str, depth: int) -> None:
        where = f"{path}.{rule.label}"
        if not isinstance(item, list):
            self.say(
                "structure", where, f"{describe_json_type(item)}, where a list of {rule.type} is due", f"{path}.{name}"
            )
        elif not item:
            self.say("invariant", where, "an empty list; leave it out (ele-1)", f"{path}.{name}")
        elif rule.test is not None:
            for number, one in enumerate(item):
                if not rule.test(one) and not (one is None and "_" + name in value):  # which says what null stands for
                    self._wrong(one, rule, f"{where}[{number}]", f"{where}[{number}]")
        elif (plain := rule.plain) is not None:
            for number, one in enumerate(item):
                self.members(one, plain, f"{where}[{number}]", depth + 1)
        else:
            for number, one in enumerate(item):
                self._one(one, rule, f"{where}[{number}]", depth + 1)

    def _wrong(self, item: Any, rule: ElementRule, where: str, spelled: str) -> None:
        if item is None:
            self.say("structure", where, "null is no value; leave the element out", spelled)
        elif isinstance(item, dict | list):
            self.say("structure", where, f"{describe_json_type(item)}, where one {rule.type} is due", spelled)
        elif not PRIMITIVES[rule.type].test(item):
            self._malformed(item, rule.type, where, spelled)
        elif rule.codes is not None:
            every = [one for codes in rule.codes.values() for one in codes]
            self.say("code-invalid", where, f"{quote_value(item)} is not one of {join_names(every)}", spelled)

    def _malformed(self, item: Any, type: str, where: str, spelled: str) -> None:
        primitive, found = PRIMITIVES[type], describe_json_type(item)
        if found.split()[-1] != primitive.json:
            self.say(
                "structure",
                where,
                f"{quote_value(item)} is {found}; {type} is written as a JSON {primitive.json}",
                spelled,
            )
        elif type == "xhtml" and (problem := find_narrative_error(item)) is not None:
            self.say(problem.code, where, str(problem), spelled)
        else:
            self.say("value", where, f"{quote_value(item)} is not {primitive.wanted}", spelled)

    def _after(self, item: Mapping[str, Any], rule: ElementRule, where: str) -> None:
        if rule.codes is None:
            self._reference(item, rule, where)
        elif not _is_coded(item, rule.codes):
            wanted = "; ".join(f"{system}: {join_names(codes)}" for system, codes in rule.codes.items())
            self.say("code-invalid", where, f"no coding is one of {wanted}")

    def _reference(self, item: Mapping[str, Any], rule: ElementRule, where: str) -> None:
        text = item.get("reference")
        type: str | None = None
        if isinstance(text, str) and text:
            if text[0] == "#":
                self.fragments.append((where, text, rule))
            else:
                type = _parse_reference_type(text)
                if type == "":
                    wanted = "Type/id with a type of R4, an absolute URL, urn:uuid:... or #id of something contained"
                    self.say("value", f"{where}.reference", f"{quote_value(text)} is no reference: {wanted}")
        said = item.get("type")
        if isinstance(said, str) and (named := said.removeprefix(_DEFINITION_URL)) in RESOURCE_TYPES:
            if type and type != named:
                self.say("invalid", f"{where}.type", f"says {named}, but the reference is to {type}")
            type = type or named
        if type:
            self._target(type, rule, where)

    def _target(self, type: str, rule: ElementRule, where: str) -> None:
        targets = rule.element.targets
        if targets and type not in targets:
            self.say("invalid", where, f"refers to {type}; it may refer to {join_names(sorted(targets))}")

    def _local(self, value: Resource, path: str) -> None:
        """What is referred to by #id is contained (ref-1), and what is contained is referred to (dom-3)."""
        contained = value.get("contained")
        inside: list[Any] = contained if isinstance(contained, list) else []
        types = {one["id"]: one.get("resourceType") for one in inside if _has_id(one)}
        for where, text, rule in self.fragments:
            type = types.get(text[1:]) if text != "#" else value["resourceType"]
            if type is None:
                self.say(
                    "invariant", f"{where}.reference", f"nothing contained has the id {quote_value(text[1:])} (ref-1)"
                )
            elif isinstance(type, str) and type in RESOURCE_TYPES:
                self._target(type, rule, where)
        if inside:
            self._tied(inside, value, path)

    def _tied(self, inside: list[Any], value: Resource, path: str) -> None:
        used = {text for _, text, _ in self.fragments}
        loose = [number for number, one in enumerate(inside) if not (_has_id(one) and f"#{one['id']}" in used)]
        more = _find_fragments(value) if loose else set()  # a canonical refers to what is contained too
        for number in loose:
            one = inside[number]
            if not (_has_id(one) and f"#{one['id']}" in more) and "#" not in _find_fragments(one):
                text = "nothing refers to it by its id, nor it to what contains it (dom-3)"
                self.say("invariant", f"{path}.contained[{number}]", text)

    def _contained(self, value: Resource, path: str) -> None:
        if "contained" in value:
            self.say("invariant", f"{path}.contained", "what is contained contains nothing itself (dom-2)")
        meta = value.get("meta")
        for name in ("versionId", "lastUpdated", "security"):
            if isinstance(meta, dict) and name in meta:
                key = "dom-5" if name == "security" else "dom-4"
                self.say("invariant", f"{path}.meta.{name}", f"what is contained has none of its own ({key})")


def _describe_type_error(value: Resource) -> str:
    if "resourceType" not in value:
        return "missing; it says what type of resource this is"
    return f"{quote_value(value['resourceType'])} is not a type of resource in R4"


def _is_extended(companion: Any) -> bool:
    return isinstance(companion, dict) and "extension" in companion


def _is_coded(item: Mapping[str, Any], codes: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether one of its codings is from the set; what only has extensions says in them why there is none."""
    codings = item.get("coding")
    if not isinstance(codings, list):
        return "extension" in item and "text" not in item
    pairs = [(one.get("system", ""), one.get("code")) for one in codings if isinstance(one, dict)]
    return any(code in codes.get(system, ()) for system, code in pairs if isinstance(system, str))


def _has_id(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("id"), str)


def _find_fragments(value: Any) -> set[str]:
    """All texts in some data, however deep, that begin with #."""
    found: set[str] = set()
    due = [value]
    while due:
        one = due.pop()
        if isinstance(one, str):
            if one.startswith("#"):
                found.add(one)
        elif isinstance(one, dict | list):
            due.extend(one.values() if isinstance(one, dict) else one)
    return found


def _parse_reference_type(text: str) -> str | None:
    """The type a reference means; None where its text does not tell, nothing where it is no reference at all."""
    found = _restful(text)
    if found is not None:
        type = found[2]
        return type if type in RESOURCE_TYPES else None if found[1] else ""
    if _absolute(text):
        return None
    asked = _conditional(text)
    return asked[1] if asked is not None and asked[1] in RESOURCE_TYPES else ""
