"""Values that a caller states to a representative, in any order and several in one sentence."""

import re
from collections.abc import Collection, Iterator, Mapping

from clerkship.formats.phone_tree.nodes import EntryFormat
from clerkship.formats.phone_tree.spoken_entry import parse_entry
from clerkship.text.dates import DATE_WORDS
from clerkship.text.spoken_words import MONTH_PATTERN, fold_speech, to_word_set

NPI_LENGTH = 10
MIN_CODE_LENGTH = 4
"""Shortest member id or reference; a shorter one is rather a word, such as the `one` of "one moment"."""
MAX_FREE_TEXT = 200
"""Characters of a value without a format that are stored."""
MAX_TEXT = 5_000
"""Characters of a text that are searched for values."""
PATIENT_NAMES = ("name", "patient_name", "member_name")
"""What the name of a patient is called."""
_LABELS = {
    "npi": ("npi", "national provider identifier", "provider number"),
    "member_id": ("member id", "member number", "subscriber id", "id number", "policy number", "insurance id"),
    "birth_date": ("date of birth", "birth date", "birthdate", "birthday", "dob", "born"),
    "service_date": ("date of service", "service date", "dos"),
    "reference": ("reference number", "reference", "authorization number", "auth number", "case number"),
    "claim_number": ("claim number", "claim id"),
    "phone": ("phone number", "callback number", "telephone number", "call back at", "reach us at", "phone"),
}
_CODE_ENDINGS = ("_id", "_number", "reference")
_DIGIT_NAMES = ("npi", "phone")
_WRITTEN_DATE = re.compile(r"\b\d{1,2}[/.-]\d{1,2}[/.-](?:\d{4}|\d{2})\b|\b\d{4}-\d{2}-\d{2}\b")
_BEFORE_NAME = re.compile(
    r"^(?:.*\b(?:name(?: is|['’]s)|this is|it is|it['’]s|that is|that['’]s|patient is|calling for|calling about))\s+",
    re.IGNORECASE,
)
_AFTER_NAME = re.compile(r"[,;:.!?](?:\s|$)|\b(?:born|dob|date of birth|birth date|and|from|with)\b", re.IGNORECASE)
"""Where the name of a person ends."""
_PATIENT_NAME = re.compile(
    r"\b[Pp]atient(?:['’]s name)?(?:,? (?:is|named|called))?[,:]? +([A-Z][\w'’-]*(?: [A-Z][\w'’-]*){1,3})"
)
"""The name of a patient that is stated without being asked for: `for our patient Ana Lee`."""
_NOT_NAMES = to_word_set(
    "his her hers their the its is it that this what when where who why how which can could would will do does did yes "
    "no okay ok great sure perfect thanks thank you please hello hi good well i we sorry one moment"
)
"""Words that are no name, alone or together."""
_NAMED_DATE = re.compile(
    rf"(?:\b\d{{1,2}}(?:st|nd|rd|th)?(?:\s+of)?\s+)?\b(?:{MONTH_PATTERN})\b"
    rf"(?:[\s,.-]+(?:\d{{1,4}}(?:st|nd|rd|th)?|{'|'.join(sorted(DATE_WORDS))})\b){{1,12}}"
)


def find_format(name: str) -> EntryFormat | None:
    """Return the format of a value by its name; None if it is free text."""
    if name in _DIGIT_NAMES:
        return "digits"
    if name.endswith("date"):
        return "date"
    return "letters_and_digits" if name.endswith(_CODE_ENDINGS) else None


def find_values(names: Collection[str], text: str, asked_for: str = "", *, by_form: bool = True) -> dict[str, str]:
    """Return the values with some names that a text states.

    A value is recognized by what it is called ("my member ID is"), because it was asked for, or `by_form`.
    """
    folded = fold_speech(text[:MAX_TEXT])
    values: dict[str, str] = {}
    for name, segment in _split_by_label(names, folded):
        value = _parse_value(name, segment)
        if value is not None:
            values[name] = value
    if asked_for in names and asked_for not in values:
        value = _parse_value(asked_for, folded) if find_format(asked_for) else _read_free_text(asked_for, text)
        if value is not None and value not in values.values():
            values[asked_for] = value
    stated_name = _PATIENT_NAME.search(text[:MAX_TEXT])
    for name in names if by_form else ():
        if name in PATIENT_NAMES and name not in values and stated_name is not None:
            values[name] = stated_name[1]
        value = _recognize(name, _without_values(folded, values)) if name not in values else None
        if value is not None and value not in values.values():
            values[name] = value
    return values


def _split_by_label(names: Collection[str], folded: str) -> Iterator[tuple[str, str]]:
    """Yield the text after each label, up to the next one."""
    labels = {label: name for name in names for label in (*_LABELS.get(name, ()), name.replace("_", " "))}
    if not labels:
        return
    pattern = "|".join(re.escape(label) for label in sorted(labels, key=lambda label: (-len(label), label)))
    places = list(re.finditer(rf"\b(?:{pattern})\b", folded))
    ends = [*(place.start() for place in places[1:]), len(folded)]
    for place, end in zip(places, ends, strict=False):
        yield labels[place[0]], folded[place.end() : end]


def _parse_value(name: str, text: str) -> str | None:
    """Return the value of a name in a text; None if there is none of its format."""
    format = find_format(name)
    if format is None:
        return None
    if format == "date":
        return parse_entry("date", text)
    value = parse_entry(format, _without_dates(text))
    if value is None or (name == "npi" and len(value) != NPI_LENGTH):
        return None
    is_code = len(value) >= MIN_CODE_LENGTH and any(char.isdigit() for char in value)
    return value if is_code else None


def _recognize(name: str, text: str) -> str | None:
    """Return a value that was neither called by its name nor asked for, if its form leaves no doubt."""
    if name == "birth_date":
        return parse_entry("date", text) if text != _without_dates(text) else None
    if name == "npi":
        return _parse_value(name, text)
    if name == "member_id":
        value = _parse_value(name, text)
        return value if value is not None and any(char.isalpha() for char in value) else None
    return None


def _without_dates(text: str) -> str:
    """Return a text with dates replaced, so that their digits are not read as a code."""
    return _NAMED_DATE.sub(" date ", _WRITTEN_DATE.sub(" date ", text))


def _without_values(text: str, values: Mapping[str, str]) -> str:
    """Return a text with codes replaced that were found already."""
    for value in values.values():
        text = text.replace(value.lower(), " value ")
    return text


def _read_free_text(name: str, text: str) -> str | None:
    """Return a text as it is said; of the name of a person, only the name. None if there is no such value."""
    words = " ".join(text[:MAX_TEXT].split())
    if name.endswith("name"):
        end = _AFTER_NAME.search(words)
        is_question = end is not None and end[0].startswith("?")
        words = _BEFORE_NAME.sub("", words[: end.start()] if end is not None else words).strip()
        parts = words.split()
        if _NOT_NAMES.issuperset(fold_speech(words).split()) or (is_question and not all(map(_is_capitalized, parts))):
            return None
    return words[:MAX_FREE_TEXT].strip() or None


def _is_capitalized(word: str) -> bool:
    return word[0].isupper()
