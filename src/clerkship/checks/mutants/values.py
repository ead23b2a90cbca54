"""Other values for the arguments of a call: another record of the same type, or another value of the same kind."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

import orjson

from clerkship.kit.rng import Rng
from clerkship.model.dataset import Dataset

MAX_SHARED = 2
"""A value that more records have at the same place does not identify a record."""
VALUES = "values"
"""The random stream from which values are chosen."""
MIN_LENGTH, MAX_LENGTH = 4, 60
OTHER_TEXT = "This is about something else."
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_NAME = re.compile(r"\w[\w.@+-]*\w")
_FACT = re.compile(r"\d+:\d+|[A-Za-z0-9][A-Za-z0-9.-]*")
_ADDRESS = re.compile(r"\+\d[\d ()-]{7,}|[^@\s]+@[^@\s]+\.\w+")
_PROSE = re.compile(r"\S+\s+\S+\s+\S")
_SEPARATORS = re.compile(r"[|*~^]")
MAX_SEPARATORS = 3
_OWN_ELEMENTS: Mapping[str, Sequence[int]] = {
    "ISA": (9, 10, 13),
    "GS": (4, 5, 6),
    "ST": (2,),
    "BHT": (4, 5),
    "TRN": (3,),
    "SE": (2,),
    "GE": (2,),
    "IEA": (2,),
    "MSH": (6, 9),
}
"""Elements of X12 and HL7 segments in which the sender says when and under which number of its own it sends: another
value there is no mistake."""
TYPE_KEY = "resourceType"
_Place = tuple[str, ...]
"""The type of a record, and the keys of a value in it; `*` for the number of an item."""


class Leaf(NamedTuple):
    """A value that has no parts, with its path."""

    path: tuple[str, ...]
    value: Any
    place: _Place = ()
    """Its place in the record that contains it; empty if none does."""


def walk(data: Any, path: tuple[str, ...] = (), place: _Place = ()) -> Iterator[Leaf]:
    """Yield all leaves of plain data."""
    if isinstance(data, dict):
        if TYPE_KEY in data:
            place = (str(data[TYPE_KEY]),)
        for key, value in data.items():
            yield from walk(value, (*path, key), (*place, key) if place else ())
    elif isinstance(data, list | tuple):
        for number, value in enumerate(data):
            yield from walk(value, (*path, str(number)), (*place, "*") if place else ())
    else:
        yield Leaf(path, data, place)


class RecordValues:
    """The values in the records of a task's datasets and in the lists of its environment."""

    def __init__(self, datasets: Iterable[Dataset], config: Mapping[str, Any]) -> None:
        counts: defaultdict[_Place, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        for place, value in _list_values(datasets, config):
            counts[place][value] += 1
        self._choices = {place: sorted(values) for place, values in counts.items()}
        self._places: dict[str, _Place] = {}
        self._identifying: dict[_Place, list[str]] = {}
        for place, values in sorted(counts.items()):
            single = [value for value, count in values.items() if count <= MAX_SHARED and _is_identifying(value)]
            if len(single) > 1:
                self._identifying[place] = sorted(single)
                for value in single:
                    self._places.setdefault(value, place)

    def find_names(self, text: str) -> list[str]:
        """Return the parts of a text that identify a record: an id, a number, a name, an address."""
        parts = [text, *_NAME.findall(text)]
        return list(dict.fromkeys(part for part in parts if part in self._places))

    def choose_other(self, name: str, rng: Rng) -> str:
        """Return what identifies another record in the same way."""
        others = [value for value in self._identifying[self._places[name]] if value != name]
        alike = [value for value in others if _get_shape(value) == _get_shape(name)]
        return rng.stream(VALUES).choice(alike or others)

    def choose_value(self, leaf: Leaf, rng: Rng) -> Any:
        """Return another value of the same kind; the same place in other records has it, if possible."""
        value = leaf.value
        if isinstance(value, bool):
            return not value
        if isinstance(value, int | float):
            return value + 1
        choices = [choice for choice in self._choices.get(leaf.place, ()) if choice != value]
        if choices:
            return rng.stream(VALUES).choice(choices)
        if is_prose(value):
            return OTHER_TEXT
        names = self.find_names(value)
        return value.replace(names[0], self.choose_other(names[0], rng)) if names else change_fact(value)


def is_prose(text: str) -> bool:
    """Return whether a text is made of words, and is not a message in the syntax of a standard."""
    return _PROSE.search(text) is not None and len(_SEPARATORS.findall(text)) <= MAX_SEPARATORS


def is_address(text: str) -> bool:
    """Return whether a text is a phone number or an e-mail address."""
    return _ADDRESS.fullmatch(text) is not None


def find_facts(text: str, source: str) -> list[str]:
    """Return the words of a text that have a digit and are in the source too: numbers, dates, codes."""
    known = set(_list_words(source))
    return [word for word in _list_words(text) if word in known and len(word) > 1 and re.search(r"\d", word)]


def remove_own_elements(message: str) -> str:
    """Return an X12 or HL7 message without dates of sending and control numbers; another text as it is."""
    if not message.startswith(("ISA", "MSH")):
        return message
    separator, segments = message[3:4], re.split(r"[~\r\n]+", message)
    return "\n".join(
        separator.join(
            "" if place in _OWN_ELEMENTS.get(segment[:3].rstrip(separator), ()) else element
            for place, element in enumerate(segment.split(separator))
        )
        for segment in segments
    )


def _list_words(text: str) -> list[str]:
    return list(dict.fromkeys(word.rstrip(".-") for word in _FACT.findall(text)))


def change_fact(text: str) -> str:
    """Return a text with another date or number."""
    found = _DATE.search(text)
    if found:
        try:
            other = str(date.fromisoformat(found[0]) + timedelta(days=1))
        except ValueError:
            other = found[0]
        if other != found[0]:
            return text[: found.start()] + other + text[found.end() :]
    last = next(iter([*re.finditer(r"\d", text)][::-1]), None)
    if last is None:
        return OTHER_TEXT if text[:1].isupper() else f"other-{text}"  # `other-Bleeding` would still say it
    return text[: last.start()] + str((int(last[0]) + 1) % 10) + text[last.end() :]


def _is_identifying(value: str) -> bool:
    return MIN_LENGTH <= len(value) <= MAX_LENGTH and not (value.isalpha() and value.islower())


def _get_shape(value: str) -> str:
    return re.sub(r"\d", "0", value)


def _list_values(datasets: Iterable[Dataset], config: Mapping[str, Any]) -> Iterator[tuple[_Place, str]]:
    for dataset in datasets:
        lines = [orjson.loads(line) for line in dataset.lines or () if line.startswith(b"{")]
        for record in (*dataset.records, *lines):
            for leaf in walk(record, place=(dataset.name,)):
                if isinstance(leaf.value, str):
                    yield leaf.place, leaf.value
    for leaf in walk(config, place=("environment",)):
        if isinstance(leaf.value, str):
            yield leaf.place, leaf.value
