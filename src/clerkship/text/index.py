"""Find the patients that a text mentions. The index is built once for a dataset and looks at each token once."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import chain
from typing import Literal, NamedTuple

from clerkship.text.contact_points import find_emails, list_phone_digits, normalize_email
from clerkship.text.dates import list_dates
from clerkship.text.folding import FoldedText, Token, fold_words
from clerkship.text.identity import MIN_NUMBER, Identity
from clerkship.text.known_names import ORIGINS
from clerkship.text.words import (
    COMMON_WORDS,
    COURTESY_TITLES,
    DOCTOR_TITLES,
    NAME_NEIGHBORS,
    NUMBER_LABELS,
    STREET_WORDS,
    SUFFIXES,
)

Kind = Literal["name", "birth_date", "number", "address", "email"]
KINDS: tuple[Kind, ...] = ("name", "birth_date", "number", "address", "email")
MAX_STREET_WORDS = 7
MAX_BETWEEN = 3
"""Middle names and initials between the parts of a name."""
MAX_NAME_SPAN = 12
"""Words between the first word of one part of a name and that of the other."""
MAX_DISTANCE = 120
"""Characters between two facts that only together tell who is meant."""
_RECENT = (timedelta(days=400), timedelta(days=800))
"""A date so long before or after now is an appointment or a visit unless a word about birth is near it."""
_MAX_GAP = 6
_STRONG_FACETS = frozenset({"full", "number", "address", "email"})
"""What can tell alone who is meant."""
_GIVEN_NAMES = frozenset(
    word for origin in ORIGINS for name in (*origin.female, *origin.male) for word in fold_words(name)[:1]
)
"""Given names, which make another person of a family name after them."""


class PatientMention(NamedTuple):
    """A part of a text that is about a patient."""

    person: Identity
    kind: Kind
    start: int
    end: int
    is_enough: bool
    """Whether it alone tells that the patient is meant."""
    facet: str
    """What it is about the patient; two different facets together are enough."""


class MentionQuery(NamedTuple):
    """Whom to look for, and who may be mentioned."""

    allowed: tuple[Identity, ...] = ()
    only: frozenset[str] | None = None
    """The keys of the patients to look for; None for all in the index."""
    kinds: Collection[Kind] = KINDS
    last_four: bool = False
    now: date | None = None
    is_spoken: bool = False
    """Whether the text was said or keyed on a phone."""
    min_number: int = MIN_NUMBER
    """Characters of a number that counts without a word such as MRN before it."""

    @property
    def is_named(self) -> bool:
        """Whether the criterion names the patients."""
        return self.only is not None


class MentionIndex:
    """The patients of a dataset by every word, number and address that identifies them."""

    def __init__(self, people: Iterable[Identity], staff: Iterable[tuple[str, ...]] = ()) -> None:
        self.people: Mapping[str, Identity] = {person.key: person for person in people}
        self.staff = frozenset(staff)
        """Family names of practitioners, each of which alone may mean the practitioner."""
        self._given: dict[str, list[Identity]] = defaultdict(list)
        self._families: dict[str, list[tuple[tuple[str, ...], Identity]]] = defaultdict(list)
        self._joined: dict[str, list[Identity]] = defaultdict(list)
        self._dates: dict[date, list[Identity]] = defaultdict(list)
        self._numbers: dict[str, list[Identity]] = defaultdict(list)
        self._tails: dict[str, list[Identity]] = defaultdict(list)
        self._streets: dict[str, list[Identity]] = defaultdict(list)
        self._emails: dict[str, list[Identity]] = defaultdict(list)
        for person in self.people.values():
            self._add(person)
        self._house_numbers = {street.partition(" ")[0] for street in self._streets}
        self._number_starts = {number[:end] for number in self._numbers for end in range(1, len(number) + 1)}

    def _add(self, person: Identity) -> None:
        for given in person.given:
            self._given[given].append(person)
        for family in person.families:
            self._families[family[0]].append((family, person))
            for given in person.given:
                self._joined[f"{given}{''.join(family)}"].append(person)
                self._joined[f"{''.join(family)}{given}"].append(person)
        if person.birth_date is not None:
            self._dates[person.birth_date].append(person)
        for number in person.numbers:
            self._numbers[number].append(person)
            if number[-4:].isdigit() and len(number) >= MIN_NUMBER:
                self._tails[number[-4:]].append(person)
        for street in person.streets:
            self._streets[street].append(person)
        for email in person.emails:
            self._emails[email].append(person)

    def find_by_address(self, address: str) -> list[Identity]:
        """Return the patients who have an address: an e-mail address, a phone number, or `Patient/…`."""
        if address in self.people:
            return [self.people[address]]
        if "@" in address:
            return self._emails.get(normalize_email(address), [])
        return self._numbers.get(list_phone_digits(address)[0], [])

    def find_sharers(self, person: Identity) -> list[Identity]:
        """Return the other patients who share a name, a birth date, a number or an address with a person."""
        families = (other for family in person.families for words, other in self._families.get(family[0], ()))
        shared = chain(
            families,
            *(self._given.get(given, ()) for given in person.given),
            self._dates.get(person.birth_date, ()) if person.birth_date is not None else (),
            *(self._numbers.get(number, ()) for number in person.numbers),
            *(self._streets.get(street, ()) for street in person.streets),
            *(self._emails.get(email, ()) for email in person.emails),
        )
        return list({other.key: other for other in shared if other.key != person.key}.values())

    def find_leaks(self, text: FoldedText, query: MentionQuery) -> list[PatientMention]:
        """Return the mentions that tell of a patient who must not be mentioned, the first of each patient and kind."""
        leaks: dict[tuple[str, Kind], PatientMention] = {}
        for key, mentions in self.find_mentions(text, query).items():
            for mention in select_telling(mentions):
                leaks.setdefault((key, mention.kind), mention)
        return sorted(leaks.values(), key=lambda mention: (mention.start, mention.person.key))

    def find_mentions(self, text: FoldedText, query: MentionQuery) -> Mapping[str, Sequence[PatientMention]]:
        """Return all mentions by the key of the patient, also those that do not tell alone who is meant."""
        if not self.people:
            return {}
        allowed = {person.key for person in query.allowed}
        by_person: dict[str, list[PatientMention]] = defaultdict(list)
        finders: dict[Kind, Callable[[FoldedText, MentionQuery], Iterator[PatientMention]]] = {
            "name": self._find_names,
            "birth_date": self._find_birth_dates,
            "number": self._find_numbers,
            "address": self._find_streets,
            "email": self._find_emails,
        }
        for mention in chain.from_iterable(finders[kind](text, query) for kind in KINDS if kind in query.kinds):
            key = mention.person.key
            if key not in allowed and (query.only is None or key in query.only):
                by_person[key].append(mention)
        return by_person

    def _find_names(self, text: FoldedText, query: MentionQuery) -> Iterator[PatientMention]:
        tokens = text.tokens
        given: dict[str, list[tuple[int, int]]] = defaultdict(list)
        family: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, token in enumerate(tokens):
            for person in self._joined.get(token.text, ()):
                if not _shares_full_name(person, query.allowed):
                    yield PatientMention(person, "name", token.start, token.end, True, "full")
            for person in self._given.get(token.text, ()):
                given[person.key].append((place, place + 1))
            for words, person in self._families.get(token.text, ()):
                if tuple(each.text for each in tokens[place : place + len(words)]) == words:
                    family[person.key].append((place, place + len(words)))
        for key in given.keys() | family.keys():
            yield from self._judge_names(text, query, self.people[key], given[key], family[key])

    def _judge_names(
        self,
        text: FoldedText,
        query: MentionQuery,
        person: Identity,
        given: list[tuple[int, int]],
        family: list[tuple[int, int]],
    ) -> Iterator[PatientMention]:
        used: set[int] = set()
        for first in given:
            nearest = bisect_left(family, (first[0] - MAX_NAME_SPAN,)), bisect_left(family, (first[1] + MAX_NAME_SPAN,))
            for last in family[slice(*nearest)]:
                if first[0] not in range(*last) and _is_one_name(text, person, first, last):
                    used |= {*range(*first), *range(*last)}
                    start, end = min(first[0], last[0]), max(first[1], last[1])
                    is_shared = _shares_full_name(person, query.allowed, text.tokens[first[0]].text)
                    if not is_shared or _has_own_suffix(text, person, end, query):
                        enough = not _is_plain_sentence(text, range(start, end))
                        yield self._mention(text, person, start, end, enough, "full")
        for place, end in family:
            if place not in used and not _is_shared_word(text.tokens[place].text, query.allowed):
                enough = self._is_family_enough(text, person, place, end)
                yield self._mention(text, person, place, end, enough, "family")
        for place, end in given:
            if place not in used and not _is_shared_word(text.tokens[place].text, query.allowed):
                enough = query.is_named and self._is_given_enough(text, place)
                yield self._mention(text, person, place, end, enough, "given")

    def _mention(
        self, text: FoldedText, person: Identity, start: int, end: int, enough: bool, facet: str
    ) -> PatientMention:
        tokens = text.tokens
        return PatientMention(person, "name", tokens[start].start, tokens[end - 1].end, enough, facet)

    def _is_family_enough(self, text: FoldedText, person: Identity, place: int, end: int) -> bool:
        """Return whether a family name stands for a person by itself: not `Dr. Rivera`, `Jo Rivera`, `Rivera Road`.

        A name such as Stanley is also a given name, and alone does not tell who is meant; nor does one of a
        practitioner.
        """
        tokens = text.tokens
        word = tokens[place].text
        before = tokens[place - 1] if place and text.gap(place - 1) in (" ", ". ", ".") else None
        has_title = before is not None and before.text in COURTESY_TITLES and tokens[place].is_capitalized
        if end - place == 1 and not has_title and (word in COMMON_WORDS or word in self._given or word in _GIVEN_NAMES):
            return False
        has_initial = before is not None and before.text in {given[0] for given in person.given}
        if tuple(token.text for token in tokens[place:end]) in self.staff and not has_title and not has_initial:
            return False
        is_other = before is not None and (before.text in DOCTOR_TITLES or self._is_other_name(before))
        if is_other and not has_title and not has_initial:
            return False
        return not _is_name_part(tokens[end], text.gap(end - 1)) if end < len(tokens) else True

    def _is_given_enough(self, text: FoldedText, place: int) -> bool:
        """Return whether a given name stands for a person by itself: not `Nurse Ana`, `Ana Lopez`."""
        tokens = text.tokens
        if tokens[place].text in COMMON_WORDS or len(tokens[place].text) < 3:
            return False
        if place and text.gap(place - 1) in (" ", ". ") and tokens[place - 1].text in DOCTOR_TITLES:
            return False
        return place + 1 == len(tokens) or not _is_name_part(tokens[place + 1], text.gap(place))

    def _is_other_name(self, token: Token) -> bool:
        if token.text in NAME_NEIGHBORS or token.text.isdigit():
            return False
        return (
            token.text in self._given
            or token.text in _GIVEN_NAMES
            or (token.is_capitalized and not token.starts_sentence)
        )

    def _find_birth_dates(self, text: FoldedText, query: MentionQuery) -> Iterator[PatientMention]:
        own = {person.birth_date for person in query.allowed}
        for written in list_dates(text.lower, is_spoken=query.is_spoken) if self._dates else ():
            if written.readings & own:
                continue
            is_recent = query.now is not None and any(
                query.now - _RECENT[0] <= each <= query.now + _RECENT[1] for each in written.readings
            )
            enough = written.is_birth or (query.is_named and not is_recent)
            for person in (person for each in written.readings for person in self._dates.get(each, ())):
                yield PatientMention(person, "birth_date", written.start, written.end, enough, "date")

    def _find_numbers(self, text: FoldedText, query: MentionQuery) -> Iterator[PatientMention]:
        own = {number for person in query.allowed for number in person.numbers}
        tokens = text.tokens
        for place, token in enumerate(tokens) if self._numbers else ():
            if token.text not in self._number_starts and token.text not in self._tails:
                continue
            number = ""
            for end in range(place, len(tokens)):
                if end > place and len(text.gap(end - 1)) > 3:
                    break
                number += tokens[end].text
                if number not in self._number_starts:
                    break
                people = self._numbers.get(number, ()) if number not in own else ()
                for person in people:
                    is_id = number == "".join(fold_words(person.key.partition("/")[2]))  # `1000` may be of anything
                    min_number = MIN_NUMBER if is_id else query.min_number
                    if _is_whole_number(text, place, end, number, min_number):
                        yield PatientMention(person, "number", token.start, tokens[end].end, True, "number")
            if query.last_four and token.text in self._tails and _is_single_number(text, place):
                is_own = any(each.endswith(token.text) for each in own)
                for person in self._tails[token.text] if not is_own else ():
                    if query.is_named or _is_named_tail(text, place):
                        yield PatientMention(person, "number", token.start, token.end, True, "tail")

    def _find_streets(self, text: FoldedText, query: MentionQuery) -> Iterator[PatientMention]:
        own = {street for person in query.allowed for street in person.streets}
        tokens = text.tokens
        for place, token in enumerate(tokens) if self._streets else ():
            if token.text not in self._house_numbers:
                continue
            words = [STREET_WORDS.get(each.text, each.text) for each in tokens[place : place + MAX_STREET_WORDS]]
            for length in range(len(words), 1, -1):
                line = " ".join(words[:length])
                if line in self._streets and line not in own:
                    for person in self._streets[line]:
                        yield PatientMention(
                            person, "address", token.start, tokens[place + length - 1].end, True, "address"
                        )
                    break

    def _find_emails(self, text: FoldedText, query: MentionQuery) -> Iterator[PatientMention]:
        own = {email for person in query.allowed for email in person.emails}
        for email, start, end in find_emails(text.lower) if self._emails else ():
            for person in self._emails.get(email, ()) if email not in own else ():
                yield PatientMention(person, "email", start, end, True, "email")


def select_telling(mentions: Sequence[PatientMention]) -> Iterator[PatientMention]:
    """Yield those of a patient's mentions that tell that the patient is meant, alone or with another near them."""
    support = _Support(mentions)
    return (mention for mention in mentions if mention.is_enough or support.has_near(mention))


def tells_who(mentions: Sequence[PatientMention]) -> bool:
    """Return whether a patient's mentions tell for sure who is meant, not only that it may be the patient.

    A birth date or a part of a name needs a fact of another kind near it.
    """
    support = _Support(mentions)
    return any(mention.is_enough and mention.facet in _STRONG_FACETS for mention in mentions) or any(
        mention.kind == "name" and support.has_near(mention) for mention in mentions
    )


class _Support:
    """Where the facts about one patient are. A name and a fact of another kind that are near support each other.

    Two names that stand apart do not support each other.
    """

    def __init__(self, mentions: Iterable[PatientMention]) -> None:
        starts = sorted((mention.start, mention.kind == "name") for mention in mentions)
        self._names = [start for start, is_name in starts if is_name]
        self._others = [start for start, is_name in starts if not is_name]

    def has_near(self, mention: PatientMention) -> bool:
        """Return whether a fact that supports a mention is near it."""
        starts = self._others if mention.kind == "name" else self._names
        index = bisect_left(starts, mention.start - MAX_DISTANCE)
        return index < len(starts) and starts[index] <= mention.start + MAX_DISTANCE


def _is_shared_word(word: str, allowed: Iterable[Identity]) -> bool:
    return any(
        word in person.given or word in person.middle or any(word in family for family in person.families)
        for person in allowed
    )


def _shares_full_name(person: Identity, allowed: Iterable[Identity], given: str = "") -> bool:
    """Return whether a full name may be that of an allowed patient, who has the given name as it is written."""
    names = {given} if given else person.given
    return any(names & other.given and person.families & other.families for other in allowed)


def _has_own_suffix(text: FoldedText, person: Identity, end: int, query: MentionQuery) -> bool:
    """Return whether a suffix such as Jr. after a name tells the patient from an allowed one of the same name."""
    word = text.tokens[end].text if end < len(text.tokens) else ""
    return word in SUFFIXES & person.suffixes and not any(word in other.suffixes for other in query.allowed)


def _is_one_name(text: FoldedText, person: Identity, given: tuple[int, int], family: tuple[int, int]) -> bool:
    """Return whether a given and a family name belong together, with middle names or initials between them."""
    first, last = sorted((given, family))
    between = [text.tokens[place].text for place in range(first[1], last[0])]
    if len(between) > MAX_BETWEEN or any(len(text.gap(place)) > _MAX_GAP for place in range(first[1] - 1, last[0])):
        return False
    initials = {name[0] for name in person.middle}
    return all(
        word in person.middle or word in SUFFIXES or (len(word) == 1 and (not initials or word in initials))
        for word in between
    )


def _is_plain_sentence(text: FoldedText, places: range) -> bool:
    """Return whether a name of ordinary words may be none: `it will long be`."""
    tokens = [text.tokens[place] for place in places]
    ordinary = [token.text in COMMON_WORDS and not token.is_capitalized for token in tokens]
    # A name is written with capitals throughout or not at all: in `Dr. Young will call`, will is a verb.
    return all(ordinary) or (any(ordinary) and any(token.is_capitalized for token in tokens))


def _is_name_part(token: Token, gap: str) -> bool:
    """Return whether a word after a name makes another name or an e-mail address of it."""
    return gap == "@" or (gap == " " and token.is_capitalized and token.text not in NAME_NEIGHBORS | SUFFIXES)


def _is_whole_number(text: FoldedText, start: int, end: int, number: str, min_number: int) -> bool:
    """Return whether tokens are a number by themselves, and long enough or named as one."""
    tokens = text.tokens
    label = tokens[start - 1].text if start and len(text.gap(start - 1)) <= 3 else ""
    glued_before = start > 0 and text.gap(start - 1) == "" and label not in NUMBER_LABELS
    glued_after = end + 1 < len(tokens) and text.gap(end) == ""
    decimal_after = end + 1 < len(tokens) and text.gap(end) in (".", ",") and tokens[end + 1].text.isdigit()
    if glued_before or glued_after or (decimal_after and tokens[end].text.isdigit()):
        return False
    return len(number) >= min_number or label in NUMBER_LABELS


def _is_single_number(text: FoldedText, place: int) -> bool:
    tokens = text.tokens
    is_joined = (
        place + 1 < len(tokens) and text.gap(place) in ("", "-", ".", "/", ":") and tokens[place + 1].text.isdigit()
    )
    before = text.gap(place - 1) if place else " "
    return not is_joined and not (before in ("", "/", ".", ":") or (before == "-" and tokens[place - 1].text.isdigit()))


def _is_named_tail(text: FoldedText, place: int) -> bool:
    start = text.tokens[place].start
    return re.search(r"end(?:s|ing)|last (?:four|4)|[x*•]{2,}", text.lower[max(0, start - 40) : start]) is not None
