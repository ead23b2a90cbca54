"""Words that users write for the words in our names: words of other tools, and of the field.

Each line of `related_words.txt` has the users' words, `>`, and ours, the most likely first. A line holds for whole
names too, such as `call_made`.
"""

from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_suffix(".txt")


@cache
def list_related_words(written: str) -> tuple[str, ...]:
    """Return our words for a word of a user, the most likely first."""
    return _read_table().get(written, ())


@cache
def _read_table() -> dict[str, tuple[str, ...]]:
    table: dict[str, dict[str, None]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        written, _, ours = line.partition(" > ")
        for word in written.split():
            table.setdefault(word, {}).update(dict.fromkeys(each for each in ours.split() if each != word))
    return {word: tuple(ours) for word, ours in table.items()}
