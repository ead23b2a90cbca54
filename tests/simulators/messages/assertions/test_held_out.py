"""How well mentions are found in lines that the rules were not written for."""

from collections.abc import Sequence

from clerkship.text.folding import fold_text
from clerkship.text.identity import Identity
from clerkship.text.index import MentionIndex, MentionQuery
from tests.simulators.messages.assertions import held_out
from tests.simulators.messages.assertions.test_mentions import NOW


def list_found(people: Sequence[Identity], lines: Sequence[str]) -> set[str]:
    index = MentionIndex(people)
    query = MentionQuery(only=frozenset(index.people), now=NOW)
    return {line for line in lines if index.find_leaks(fold_text(line), query)}


def test_first_set_has_known_false_alarms_and_no_missed_leaks() -> None:
    assert list_found(held_out.PEOPLE, held_out.LEAKS) == set(held_out.LEAKS)
    assert list_found(held_out.PEOPLE, held_out.OTHERS) == {
        "The Toro restaurant is next door",
        "Kofi Boateng, MD",
        "El toro",
        "Asante sana!",
        "We say asante to our donors",
        "Take Bill Young Drive to the exit",
    }


def test_recall_and_precision_on_held_out_lines() -> None:
    found = list_found(held_out.LATER_PEOPLE, held_out.LATER_LEAKS)
    false_alarms = list_found(held_out.LATER_PEOPLE, held_out.LATER_OTHERS)
    assert false_alarms == {"Robert from IT will fix the page", "Queen Elizabeth II stamps"}
    assert len(found) / len(held_out.LATER_LEAKS) == 1.0
    assert round(len(found) / (len(found) + len(false_alarms)), 2) == 0.91
