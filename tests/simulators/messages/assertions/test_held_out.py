"""How well mentions are found in lines that the rules were not written for."""

from clerkship.simulators.messages.mentions.folding import fold_text
from clerkship.simulators.messages.mentions.index import MentionIndex, MentionQuery
from tests.simulators.messages.assertions import held_out
from tests.simulators.messages.assertions.test_mentions import NOW

INDEX = MentionIndex(held_out.PEOPLE)
MISSED = {
    "Bill Young cancelled his colonoscopy",
    "Mr. Young had a stroke",
    "Wm. Young came in",
    "Billy Young is waiting",
}
FALSE_ALARMS = {
    "The Toro restaurant is next door",
    "Room 4, Court B",
    "Kofi Boateng, MD",
    "El toro",
    "Asante sana!",
    "We say asante to our donors",
}


def list_found(lines: tuple[str, ...]) -> set[str]:
    query = MentionQuery(only=frozenset(INDEX.people), now=NOW)
    return {line for line in lines if INDEX.find_leaks(fold_text(line), query)}


def test_recall_and_precision_on_held_out_lines() -> None:
    found, false_alarms = list_found(held_out.LEAKS), list_found(held_out.OTHERS)
    assert set(held_out.LEAKS) - found == MISSED
    assert false_alarms == FALSE_ALARMS
    assert len(found) / len(held_out.LEAKS) == 0.9
    assert round(len(found) / (len(found) + len(false_alarms)), 2) == 0.86
