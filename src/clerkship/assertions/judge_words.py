"""Sentences as the notions that their words stand for, from the word lists in `judge_words.yml`."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import yaml

MAX_SENTENCE_LENGTH = 1000
"""Characters of a sentence; a longer one is read in parts."""
MAX_WORD_LENGTH = 20
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]{0,2}\s+|\n+|;\s")
_TOKEN = re.compile(r"(?<=\w)'\w{1,2}\b|[^\W_]+|[^\w\s]")
_VERDICT_ALONE = re.compile(r"\W*(?:PASS|Pass|passed|pass[.!])\W*")
"""A sentence that is nothing but a verdict. A line `pass` is Python."""
_TITLE = re.compile("[A-Z][a-z]+ [A-Z][a-z]+")
"""A title and a name: `Judge Miller`."""
_NOTIONS = ""
"""The key of the notions in a node of the tree of phrases."""


class Sentence(NamedTuple):
    """A sentence, and where its notions stand: pairs of the first token and the one after the last.

    `start` and `end`, the places after and before punctuation, are notions, too.
    """

    text: str
    notions: Mapping[str, Sequence[tuple[int, int]]]

    def has(self, pattern: str) -> bool:
        """Return whether the sentence has all rows of notions of a pattern (see `judge_address.yml`)."""
        return all(self._has_row(row) for row in _parse_pattern(pattern))

    def _has_row(self, row: Sequence[tuple[int, Sequence[str]]]) -> bool:
        reached: Collection[int] | None = None
        for distance, names in row:
            spans = [span for name in names if name in self.notions for span in self.notions[name]]
            ends = {end for start, end in spans if reached is None or start in reached}
            if not ends:
                return False
            reached = {end + gap for end in ends for gap in range(distance + 1)}
        return True


@cache
def _parse_pattern(pattern: str) -> Sequence[Sequence[tuple[int, Sequence[str]]]]:
    """Return the rows of a pattern: for each place its notions, and the number of words that may follow it."""
    rows = [[*row.split(), "0"] for row in pattern.split("&")]
    return [[(int(gap), names.split("|")) for names, gap in zip(row[::2], row[1::2], strict=True)] for row in rows]


def split_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text with their notions."""
    for sentence in _SENTENCE_END.split(text):
        for start in range(0, len(sentence), MAX_SENTENCE_LENGTH):
            if part := " ".join(sentence[start : start + MAX_SENTENCE_LENGTH].split()):
                yield read_sentence(part)


def read_sentence(text: str) -> Sentence:
    """Find the notions in a text. The longest phrase counts at each token; an ordinary one hides the words in it."""
    words = _TOKEN.findall(text)
    tokens = [word.lower() for word in words]
    notions: dict[str, list[tuple[int, int]]] = {"start": [(0, 0)], "end": [(len(tokens), len(tokens))]}
    if _VERDICT_ALONE.fullmatch(text):
        notions["verdict_alone"] = [(0, len(tokens))]
    index = 0
    while index < len(tokens):
        if not tokens[index][-1].isalnum():
            notions["start"].append((index + 1, index + 1))
            notions["end"].append((index, index))
        end, names = _find_phrase(tokens, index)
        is_title = _TITLE.fullmatch(" ".join(words[end - 1 : end + 1])) is not None
        for name in names:
            if name != "grader" or not is_title:
                notions.setdefault(name, []).append((index, end))
        index = end if "ordinary" in names else index + 1
    return Sentence(text, notions)


def _find_phrase(tokens: Sequence[str], start: int) -> tuple[int, Collection[str]]:
    """Return the end of the longest phrase that starts at a token, and its notions."""
    nodes, end, longest = [_load_phrases()], start, (start, set[str]())
    while nodes and end < len(tokens):
        nodes = [node[key] for key in _list_keys(tokens[end]) for node in nodes if key in node]
        end += 1
        if notions := {notion for node in nodes for notion in node.get(_NOTIONS, ())}:
            longest = (end, notions)
    return longest


@lru_cache(maxsize=10_000)
def _list_keys(token: str) -> Sequence[str]:
    """Return a word as it may be written in a phrase: in full, or as its first letters."""
    return [token, *(f"{token[:length]}*" for length in range(1, min(len(token), MAX_WORD_LENGTH) + 1))]


@cache
def _load_phrases() -> dict[str, Any]:
    """Return the phrases of all notions as a tree of words."""
    tree: dict[str, Any] = {}
    table: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    for notion, entry in table.items():
        for phrase in entry["words"]:
            for words in product(*(_list_choices(word, table) for word in phrase.split())):
                node = tree
                for word in filter(None, words):
                    node = node.setdefault(word, {})
                node.setdefault(_NOTIONS, set()).add(notion)
    return tree


def _list_choices(word: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words that may stand at one place of a phrase; an empty one if there may be none."""
    for choice in word.removesuffix("?").split("|"):
        named = table[choice[1:]]["words"] if len(choice) > 1 and choice[0] == "@" else [choice]
        yield from (each for words in named if " " not in words for each in words.split("|"))
    if word.endswith("?"):
        yield ""
