"""What identifies a patient: names, birth date, numbers, street addresses and e-mail addresses."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Any, NamedTuple

from clerkship.text.contact_points import list_phone_digits, normalize_email
from clerkship.text.dates import parse_iso_date
from clerkship.text.folding import fold, fold_words
from clerkship.text.words import NICKNAMES, PARTICLES, STREET_TYPES, STREET_WORDS, SUFFIXES, UNIT_WORDS

MIN_NUMBER = 6
"""Characters of a number that counts without a word such as MRN before it."""
_SEPARATORS, _LETTERS = re.compile(r"[\W_]+"), re.compile(r"\D+")
_SEPARATED_NAME = re.compile(r"(?i)\b(o|d|l|mc|mac)['’]?(?=[a-z]{3})")


class Identity(NamedTuple):
    """What identifies one patient, folded."""

    key: str
    label: str
    given: frozenset[str]
    middle: frozenset[str]
    families: frozenset[tuple[str, ...]]
    suffixes: frozenset[str]
    birth_date: date | None
    numbers: frozenset[str]
    streets: frozenset[str]
    emails: frozenset[str]

    @property
    def addresses(self) -> frozenset[str]:
        """Everything that a message to the patient may be addressed to."""
        return self.emails | self.numbers | {self.key.lower()}


def read_identity(key: str, patient: Mapping[str, Any], numbers: Sequence[str] = ()) -> Identity:
    """Read what identifies a patient from the resource, and further numbers such as member ids."""
    names = _objects(patient, "name")
    telecom = [(each.get("system"), each.get("value")) for each in _objects(patient, "telecom")]
    texts = [value for _, value in telecom if isinstance(value, str)]
    identifiers = [each.get("value") for each in _objects(patient, "identifier")]
    values = [value for value in (*identifiers, *numbers) if isinstance(value, str)]
    phones = [text for text in texts if "@" not in text]
    values += [*phones, key.partition("/")[2]]
    digits = (each for text in phones for each in list_phone_digits(text) if len(each) >= MIN_NUMBER)
    given, middle = _read_given(names)
    return Identity(
        key=key,
        label=str(next((name["text"] for name in names if isinstance(name.get("text"), str)), key)),
        given=given,
        middle=middle,
        families=frozenset(family for name in names for family in _read_families(name)),
        suffixes=frozenset(word for name in names for each in _texts(name, "suffix") for word in fold_words(each)),
        birth_date=parse_iso_date(patient.get("birthDate"), or_digits=True),
        numbers=frozenset(chain(digits, *map(_list_number_forms, dict.fromkeys(values)))),
        streets=frozenset(
            form
            for address in _objects(patient, "address")
            for line in _texts(address, "line")
            for form in list_street_forms(fold_words(line))
        ),
        emails=frozenset(normalize_email(text) for text in texts if "@" in text),
    )


def _objects(data: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    values = data.get(name)
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def _texts(data: Mapping[str, Any], name: str) -> list[str]:
    values = data.get(name)
    return [each for each in values if isinstance(each, str)] if isinstance(values, list) else []


def _read_given(names: Sequence[Mapping[str, Any]]) -> tuple[frozenset[str], frozenset[str]]:
    """Return first names with their short forms, and middle names."""
    first: set[str] = set()
    middle: set[str] = set()
    for name in names:
        given = _texts(name, "given")
        text = name.get("text")
        if not given and isinstance(text, str) and name.get("use") == "nickname":
            given = [text]
        words = [word for each in given for word in fold_words(each)]
        first |= set(words[:1])
        middle |= {word for word in words[1:] if not word.isdigit()}
    short = {nickname for word in first for nickname in NICKNAMES.get(word, ())}
    return frozenset(first | short), frozenset(middle)


def _read_families(name: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the family name as a whole, and its parts: of Smith-Jones also Smith and Jones, of Smith123 also Smith."""
    family, text = name.get("family"), name.get("text")
    if not isinstance(family, str) and isinstance(text, str) and name.get("use") != "nickname":
        family = next((word for word in reversed(text.split()) if word.lower().strip(".") not in SUFFIXES), "")
    words = fold_words(family) if isinstance(family, str) else ()
    if not isinstance(family, str) or not words:
        return
    yield words
    if len(words) > 1:
        yield ("".join(words),)
        yield from ((word,) for word in words if word not in PARTICLES and len(word) > 2 and not word.isdigit())
    spaced = fold_words(_SEPARATED_NAME.sub(r"\1 ", fold(family)))
    if len(spaced) > len(words):
        yield spaced


def _list_number_forms(value: str) -> Iterator[str]:
    """Yield a number without separators, and without its letters."""
    whole = _SEPARATORS.sub("", fold(value).lower())
    digits = _LETTERS.sub("", whole)
    if digits and len(whole) > 2:
        yield whole
    if len(digits) >= MIN_NUMBER:
        yield digits


def list_street_forms(words: Sequence[str]) -> Iterator[str]:
    """Yield a street line with abbreviations, without its apartment, and without the word for its type."""
    plain = [STREET_WORDS.get(word, word) for word in words]
    end = next((index for index, word in enumerate(plain) if index > 1 and word in UNIT_WORDS), len(plain))
    plain = plain[:end]
    if len(plain) < 2 or not plain[0].isdigit():
        return
    yield " ".join(plain)
    kinds = [index for index, word in enumerate(plain) if index > 1 and word in STREET_TYPES]
    if kinds:
        yield " ".join(plain[: kinds[-1] + 1])
        if plain[kinds[-1] - 1] not in STREET_TYPES:  # of 4 Court Place, 4 Court may be anything
            yield " ".join(plain[: kinds[-1]])
