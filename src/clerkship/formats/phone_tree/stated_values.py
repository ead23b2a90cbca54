"""Values that a caller states to a representative, in any order and several in one sentence."""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from clerkship.formats.phone_tree.nodes import EntryFormat
from clerkship.formats.phone_tree.spoken_entry import is_code_word, parse_entry
from clerkship.formats.phone_tree.spoken_names import find_caller_name, find_patient_name
from clerkship.text.dates import DATE_WORDS
from clerkship.text.spoken_words import MONTH_PATTERN, fold_speech

NPI_LENGTH = 10
MIN_CODE_LENGTH = 4
"""Shortest member id or reference; a shorter one is rather a word, such as the `one` of "one moment"."""
MAX_FREE_TEXT = 200
"""Characters of a value without a format that are stored."""
MAX_TEXT = 5_000
"""Characters of a text that are searched for values."""
PATIENT_NAMES = ("name", "patient_name", "member_name")
"""What the name of a patient is called."""
REQUEST_NAMES = ("reference", "claim_number", "procedure_code", "service_date", "prescription_number")
"""What tells which request, claim or prescription is meant. A representative understands them in every question."""
_LABELS = {
    "npi": ("npi", "national provider identifier", "provider number"),
    "member_id": (
        *("member id", "member number", "subscriber id", "subscriber number", "id number", "policy number"),
        *("insurance id", "insurance number", "card number"),
    ),
    "birth_date": ("date of birth", "birth date", "birthdate", "birthday", "dob", "born"),
    "service_date": ("date of service", "dates of service", "service date", "day of service", "dos"),
    "reference": (
        *("reference number", "reference", "authorization number", "auth number", "case number", "request number"),
        *("tracking number", "confirmation number"),
    ),
    "claim_number": ("claim number", "claim id"),
    "prescription_number": ("prescription number", "rx number", "script number"),
    "procedure_code": ("procedure code", "service code", "cpt code", "cpt", "hcpcs code", "hcpcs"),
    "diagnosis_code": ("diagnosis code", "icd 10 code", "icd code", "icd 10", "diagnosis"),
    "phone": ("phone number", "callback number", "telephone number", "call back at", "reach us at", "phone"),
}
_NEAR_LABELS = {
    "member_id": ("member", "subscriber", "policy", "id"),
    "reference": ("authorization", "auth", "request", "case"),
    "claim_number": ("claim",),
    "prescription_number": ("prescription", "rx"),
    "procedure_code": ("procedure", "service", "code"),
    "phone": ("me at", "us at", "back at"),
}
"""Words that are labels only if a code follows at once."""
_AFTER_LABEL = re.compile(r"(?:[\s,:#]|\b(?:number|no|nr|id|code|is|was|its)\b)*")
_BEFORE_LABEL = re.compile(r"\b(?:is|as|was)(?: (?:the|my|our|her|his|their|your|a))?\s*$")
"""What stands between a value and the label that follows it."""
_SERVICE_DAY = re.compile(
    r"\b(?:claim|visit|services?|seen|appointment|treated|treatment)\b[^.?!]{0,30}?\b(?:on|from|of|for|dated)(?= )"
)
"""What stands before the day of a service."""
_CODE_ENDINGS = ("_id", "_number", "reference")
_CODE_NAMES = ("mrn", "procedure_code", "diagnosis_code")
_DIGIT_NAMES = ("npi", "phone")
_SERVICE = re.compile(r"(?:\d{5}|[a-z]\d{4}|\d{4}[a-z])")
"""The form of a CPT or HCPCS code."""
_WRITTEN_SERVICE = re.compile(rf"(?<![\w-])({_SERVICE.pattern})(?![\w-]|\s*(?:\d|dollars))")
_DIAGNOSIS = re.compile(r"[a-z]\d[\da-z](?:\.?[\da-z]{1,4})?")
"""The form of an ICD-10 code."""
_WRITTEN_DIAGNOSIS = re.compile(r"(?<![\w-])[a-z]\d[\da-z]\.[\da-z]{1,4}(?![\w-])")
_DATE_PATTERNS = (
    re.compile(r"\b\d{1,2}[/.-]\d{1,2}[/.-](?:\d{4}|\d{2})\b|\b\d{4}-\d{2}-\d{2}\b"),
    re.compile(
        rf"(?:\b\d{{1,2}}(?:st|nd|rd|th)?(?:\s+of)?\s+)?\b(?:{MONTH_PATTERN})\b"
        rf"(?:[\s,.-]+(?:\d{{1,4}}(?:st|nd|rd|th)?|{'|'.join(sorted(DATE_WORDS))})\b){{1,12}}"
    ),
)


def find_format(name: str) -> EntryFormat | None:
    """Return the format of a value by its name; None if it is free text."""
    if name in _DIGIT_NAMES:
        return "digits"
    if name.endswith("date"):
        return "date"
    return "letters_and_digits" if name in _CODE_NAMES or name.endswith(_CODE_ENDINGS) else None


def find_values(
    names: Collection[str],
    text: str,
    asked_for: str = "",
    by_form: Collection[str] = (),
    first: Collection[str] = (),
) -> dict[str, str]:
    """Return the values with some names that a text states.

    A value is recognized by what it is called ("my member ID is"), because it was asked for, or `by_form` if its form
    leaves no doubt. Values `first` are recognized by their form even before the one that was asked for.
    """
    text = text[:MAX_TEXT]
    values, rest = _read_labels(names, fold_speech(text))
    rest = _read_forms(first, values, rest)
    for name in names:
        value = _find_name(name, text, is_asked=name == asked_for) if name.endswith("name") else None
        if value is not None and (name in by_form or name == asked_for):
            values[name] = value
    if asked_for in names and asked_for not in values and not asked_for.endswith("name"):
        words = " ".join(text.split())[:MAX_FREE_TEXT].strip()
        value = _parse_value(asked_for, rest) if find_format(asked_for) else words
        if value:
            values[asked_for] = value
            rest = _cut_value(rest, asked_for, value)
    _read_forms(by_form, values, rest)
    return values


def _read_forms(names: Collection[str], values: dict[str, str], rest: str) -> str:
    """Add the values that are recognized by their form; return the text without them."""
    for name in names:
        value = _recognize(name, rest) if name not in values else None
        if value is not None and value not in values.values():
            values[name] = value
            rest = _cut_value(rest, name, value)
    return rest


class _Label(NamedTuple):
    """A label in a text."""

    name: str
    start: int
    end: int


def _read_labels(names: Collection[str], folded: str) -> tuple[dict[str, str], str]:
    """Return the values that follow their labels, or stand before them, and the text without both."""
    labels = _find_labels(names, folded)
    values: dict[str, str] = {}
    rest = folded[: labels[0].start] if labels else folded
    for place, label in enumerate(labels):
        segment = folded[label.end : labels[place + 1].start if place + 1 < len(labels) else len(folded)]
        value = _parse_value(label.name, segment)
        if value is None and _BEFORE_LABEL.search(rest):
            value, segment, rest = _parse_value(label.name, rest), rest, segment
        if value is not None and (label.name not in values or label.name.endswith("date")):
            values[label.name] = value
            segment = _cut_value(segment, label.name, value)
        rest += f" , {segment}"
    return values, rest


def _find_labels(names: Collection[str], folded: str) -> list[_Label]:
    """Return the labels of some names in a text, in order. Of labels at the same place, the longest one counts."""
    found: list[_Label] = []
    for name in names:
        for label in (*_LABELS.get(name, ()), name.replace("_", " ")):
            found += (_Label(name, *match.span()) for match in re.finditer(rf"\b{re.escape(label)}\b", folded))
        for label in _NEAR_LABELS.get(name, ()):
            found += (_Label(name, *match.span()) for match in _find_near(label, folded))
    if "service_date" in names:
        days = [match for match in _SERVICE_DAY.finditer(folded) if _starts_with_date(folded[match.end() :])]
        found += (_Label("service_date", match.end(), match.end()) for match in days)
    kept: list[_Label] = []
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept


def _find_near(label: str, folded: str) -> Iterator[re.Match[str]]:
    """Yield the places of a label after which a code follows at once."""
    for match in re.finditer(rf"\b{label}\b", folded):
        skipped = _AFTER_LABEL.match(folded, match.end())
        rest = folded[skipped.end() if skipped else match.end() :]
        first, second = (*(word.strip(",.;:?!") for word in rest.split(maxsplit=2)), "", "")[:2]
        is_article = first in ("a", "i") and (not is_code_word(second) or not (second.isdigit() or second.isalpha()))
        if is_code_word(first) and not is_article and not _starts_with_date(rest):
            yield match


def _starts_with_date(text: str) -> bool:
    return any(pattern.match(text.lstrip(" ,").removeprefix("the ")) for pattern in _DATE_PATTERNS)


def _parse_value(name: str, text: str) -> str | None:
    """Return the value of a name in a text; None if there is none of its format."""
    format = find_format(name)
    if format is None:
        return None
    if format == "date":
        return parse_entry("date", text)
    if name == "procedure_code" and (written := _WRITTEN_SERVICE.search(text)):
        return written[1].upper()
    if name == "diagnosis_code":
        return _parse_diagnosis(text)
    value = parse_entry(format, _without_dates(text))
    if value is None or (name == "npi" and len(value) != NPI_LENGTH):
        return None
    if name == "procedure_code" and _SERVICE.fullmatch(value.lower()) is None:
        return None
    is_code = len(value) >= MIN_CODE_LENGTH and any(char.isdigit() for char in value)
    return value if is_code else None


def _parse_diagnosis(text: str) -> str | None:
    """Return an ICD-10 code without its point, which is often said."""
    written = _WRITTEN_DIAGNOSIS.search(text)
    value = written[0] if written else parse_entry("letters_and_digits", re.sub(r"\b(?:point|dot)\b", " ", text))
    if value is None or _DIAGNOSIS.fullmatch(value.lower()) is None:
        return None
    return value.replace(".", "").upper()


def _recognize(name: str, text: str) -> str | None:
    """Return a value that was neither called by its name nor asked for, if its form leaves no doubt."""
    if name in ("birth_date", "service_date"):
        return parse_entry("date", text) if text != _without_dates(text) else None
    if name in ("npi", "procedure_code"):
        return _parse_value(name, text)
    if name == "member_id":
        value = _parse_value(name, text)
        return value if value is not None and any(char.isalpha() for char in value) else None
    return None


def _without_dates(text: str) -> str:
    """Return a text with dates replaced, so that their digits are not read as a code."""
    for pattern in _DATE_PATTERNS:
        text = pattern.sub(" date ", text)
    return text


def _cut_value(text: str, name: str, value: str) -> str:
    """Return a text without a value: all that follows a code may be part of it."""
    if find_format(name) == "date":
        return _without_dates(text)
    written = value.lower()
    return text.replace(written, " value ") if written in text else " ".join(re.findall(r"[^\W\d]{4,}", text))


def _find_name(name: str, text: str, *, is_asked: bool) -> str | None:
    if name == "caller_name":
        return find_caller_name(text, is_asked=is_asked)
    return find_patient_name(text, is_asked=is_asked)
