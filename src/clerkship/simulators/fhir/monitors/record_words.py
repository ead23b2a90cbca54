"""Words that say nothing about a patient: of forms, of terminologies, of names and of addresses on the web.

They are in `record_words.json`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

_TABLE: Mapping[str, Sequence[str]] = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())


def _read_words(name: str) -> tuple[str, ...]:
    return tuple(word for line in _TABLE[name] for word in line.split())


FORM_WORDS = frozenset(_read_words("form"))
"""What a form, a heading or a generated narrative says around the values."""
TERM_WORDS = frozenset(_read_words("term"))
"""What terminologies add to the name of a thing."""
NAME_WORDS = frozenset(_read_words("name"))
"""What stands beside the name of a person or an office."""
URL_WORDS = frozenset(_read_words("url"))
"""What addresses and names of systems are made of."""
SENTENCE_WORDS = frozenset(_read_words("sentence"))
"""What a sentence has, and the display of a code has not."""
MONTHS, NUMBERS = _read_words("months"), _read_words("numbers")
ACTION_DATES = frozenset(_read_words("action_dates"))
"""Elements that say when something was written, ordered or sent, not when it happens or happened."""
