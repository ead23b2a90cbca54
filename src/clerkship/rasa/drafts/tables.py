"""The texts and words for drafts, from the YAML files in this folder."""

from pathlib import Path
from typing import Any

from clerkship.suite_files.yaml import parse_yaml


def _table(name: str) -> Any:
    return parse_yaml((Path(__file__).parent / name).read_text(encoding="utf-8"), name).data


TEXTS: dict[str, dict[str, Any]] = _table("kinds.yml")
"""By kind of draft: `title`, `person`, `criteria`, `todo` and `brief`."""
WORDS: dict[str, Any] = _table("words.yml")
COMMON_WORDS = frozenset(word for words in WORDS["common"] for word in words)
