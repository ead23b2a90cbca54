"""Find the patients of a chart that a text names."""

from collections.abc import Collection

from clerkship.formats.fhir.resource import PATIENT_REFERENCE
from clerkship.text.folding import fold_text
from clerkship.text.index import KINDS, Kind, MentionIndex, MentionQuery, tells_who

_MIN_NUMBER = 4
"""Characters of a number that counts in a chart, where numbers are identifiers."""
_BIRTH_DATE: tuple[Kind] = ("birth_date",)
_ALONE = tuple(kind for kind in KINDS if kind not in _BIRTH_DATE)
"""What can tell alone who is meant. Birth dates, which take longer, are looked for only beside parts of a name."""


def find_named_patients(index: MentionIndex, text: str, own: Collection[str] = ()) -> set[str]:
    """Return the keys of the patients whom a text names: by reference, full name, number, street or e-mail address.

    A birth date or a part of a name counts only with another fact. What a patient shares with those in `own` does not.
    """
    people = index.people
    allowed = tuple(people[key] for key in own if key in people)
    folded, query = fold_text(text), MentionQuery(allowed, kinds=_ALONE, min_number=_MIN_NUMBER)
    mentions = index.find_mentions(folded, query)
    if all(map(tells_who, mentions.values())):
        named = set(mentions)
    else:
        dates = index.find_mentions(folded, query._replace(kinds=_BIRTH_DATE))
        named = {key for key, each in mentions.items() if tells_who([*each, *dates.get(key, ())])}
    return named | ({f"Patient/{id}" for id in PATIENT_REFERENCE.findall(text)} & people.keys())
