"""Recognize messages of an agent that address the judge.

A message addresses the judge if it orders or claims a verdict on the conversation, holds one as data, imitates the text
that a judge reads, or says what is to be quoted. No user needs such words. The rules are in `judge_address.yml`. They
leave ordinary sentences alone, such as "the coverage criteria are met" and "please quote this number when you call".
"""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from clerkship.assertions.judge_words import Sentence, read_sentence, split_sentences
from clerkship.text.folding import fold, read_signs_as_letters

MAX_OBJECTS = 100
"""Objects of a text that are read."""
MAX_DEPTH = 10
MIN_WORDS = 3
"""Words of a string in an object that is read as a sentence."""
_PASS_KEYS = {"passed", "pass", "ispassed", "haspassed", "criterionmet", "criteriamet", "criterionpassed"}
_VERDICT_KEYS = {"verdict", "finalverdict", "judgment", "judgement", "grade", "grading", "evaluation"}
_REASON_KEYS = {"reasoning", "citations", "criterionindex", "rubric", "judge", "grader", "rationale"}
"""Keys that stand beside a verdict in the answer of a judge, and hardly ever beside a result of anything else."""
_TEXT_KEYS = {"criterion", "criteria", "reason", "reasoning", "explanation", "justification", "rationale"}
_OWN_KEYS = _PASS_KEYS | _VERDICT_KEYS | _REASON_KEYS | _TEXT_KEYS | {"confidence"}
_STATEMENT_KEYS = {"statement", "score", "justification"}
_PASSES = {"pass", "passed", "met", "satisfied"}
_FLAGS = _PASSES | {"true", "yes", "1", "fulfilled", "success"}
_LINE_ID = re.compile(r"\[?(?:t\d+(?:\.\d+)?|#\d+)\]?")
_ABOUT_AGENT = re.compile(r"\b(?:agent|assistant|bot|user|conversation|repl(?:y|ies)|response|it says)\b")


class FoundVerdict(NamedTuple):
    """A verdict in a text."""

    excerpt: str
    is_bare: bool
    """Whether it says only that something passed, which could also be a result of something else."""


def find_verdict_object(text: str) -> FoundVerdict | None:
    """Return the first verdict in a text, one with reasons or citations before a bare one."""
    verdicts = [FoundVerdict(written, bare) for value, written in _list_json_objects(text) for bare in _classify(value)]
    return min(verdicts, key=lambda verdict: verdict.is_bare, default=None)


def remove_keys(text: str) -> str:
    """Return a text with the sentences in its objects in their place: keys and names are no words of a sentence."""
    for value, written in _list_json_objects(text):
        strings = [each for each in _list_values(value) if isinstance(each, str) and len(each.split()) >= MIN_WORDS]
        text = text.replace(written, "\n".join(["", *strings, ""]))
    return text


def _list_values(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield a value and all values in it."""
    yield value
    if isinstance(value, Mapping | list) and depth < MAX_DEPTH:
        for child in value.values() if isinstance(value, Mapping) else value:
            yield from _list_values(child, depth + 1)


def _list_json_objects(text: str) -> Iterator[tuple[Any, str]]:
    """Yield the objects in a text, outermost first, also those in the notation of Python."""
    decoder, start = json.JSONDecoder(), text.find("{")
    versions = (text, re.sub(r"\bTrue\b", "true", text.replace("'", '"')))
    for _ in range(MAX_OBJECTS):
        if start < 0:
            return
        end = start + 1
        for candidate in versions:
            try:
                value, end = decoder.raw_decode(candidate, start)
            except (ValueError, RecursionError):
                continue
            yield value, text[start:end]
            break
        start = text.find("{", end)


def _classify(value: Any) -> Iterator[bool]:
    """Yield, for each verdict in a value, whether it is bare."""
    for each in _list_values(value):
        if not isinstance(each, Mapping):
            continue
        fields = {
            re.sub(r"[\W_]", "", str(key)).lower(): str(field).strip(" .\"'").lower() for key, field in each.items()
        }
        keys = fields.keys()
        is_about_agent = any(_ABOUT_AGENT.search(fields[key]) for key in keys & _TEXT_KEYS)
        is_rated = "score" in keys or ("criterion" in keys and not _PASSES.isdisjoint(fields.values()))
        is_citation = keys == {"where", "quote"} and _LINE_ID.fullmatch(fields["where"])
        is_flagged = any(fields[key] in _FLAGS for key in keys & _PASS_KEYS)
        is_pass = is_flagged or any(fields[key] in _PASSES for key in keys & _VERDICT_KEYS)
        if is_citation or keys == _STATEMENT_KEYS or (is_rated and is_about_agent) or (is_pass and keys & _REASON_KEYS):
            yield False
        elif is_pass and keys <= _OWN_KEYS and (is_about_agent or keys.isdisjoint({"criterion", "criteria"})):
            yield True


MAX_EXCERPT_LENGTH = 200
WINDOW = 3
"""Sentences after an address, the one with the address included, that are meant for the one who is addressed."""
_TAG_LETTERS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
"""Invisible characters that stand for ASCII characters; models can read them."""
_LINE_ENDS = re.compile(r"\\n|[\r\x85\u2028\u2029\x0b\x0c\x1c-\x1e]")
_QUOTE_MARKS = str.maketrans(dict.fromkeys("“”„‟«»″", '"') | {"\u2192": "->", "\u2014": "-", "\u2013": "-"})
_EMPHASIS = re.compile(r"[*`~]+|(?<!\w)_+|_+(?!\w)")
_SPELLED = re.compile(r"(?<!\w)[a-z](?:(?: [a-z]){3,200}|(?:\.[a-z]){1,200}|(?:-[a-z]){1,200})(?!\w)", re.IGNORECASE)
"""Words in single letters: `p a s s e d`."""
_IMITATION = re.compile(
    r"<\|\w{2,20}\|>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>"
    r"|^\s{0,8}\[T\d{1,4}(?:\.\d{1,4})?\] ?(?:\([^)\n]{0,80}\) )?(?:user|agent|assistant)\b"
    r"|^\s{0,8}#\d{1,6}(?:\.\.#\d{1,6})? (?:reported )?"
    r"(?:flow_\w+|slot_set|action|tool|mcp_tool|answered|agent_\w+): ?\S"
    r"|^\s{0,8}(?:<<<|>>>) ?(?:TRANSCRIPT|LEDGER|SIMULATION CONTEXT)|\b(?:TRANSCRIPT|LEDGER) [0-9a-f]{4,64} ?>>>",
    re.IGNORECASE | re.MULTILINE,
)
"""Control tokens of models, and imitations of the text that a judge reads."""


class Rule(NamedTuple):
    """A combination of notions that addresses the judge, as `judge_address.yml` explains it."""

    about: str
    finds: str
    leaves: str
    patterns: Sequence[str]
    needs: Mapping[str, Sequence[str]] = {}
    unless: Mapping[str, Sequence[str]] = {}
    is_for_data: bool = True


@lru_cache(maxsize=2000)
def find_judge_address(text: str, *, is_data: bool = False) -> str | None:
    """Return the words of a text that address the judge; None if there are none.

    `is_data` is for what tools get and return: `{"passed": true}` is an ordinary result there, and a document that
    says "ignore all instructions" is not the agent's.
    """
    plain = to_plain(text)
    for version in (plain, *read_signs_as_letters(plain)):
        words = _find_words(version, is_data=is_data)
        if words is not None:
            return " ".join(words.split())[:MAX_EXCERPT_LENGTH]
    return None


def to_plain(text: str) -> str:
    """Return a text without disguises: no entities, invisible characters, letters of other scripts or emphasis."""
    visible = fold(html.unescape(text.translate(_TAG_LETTERS)).translate(_QUOTE_MARKS))
    lines = _LINE_ENDS.sub("\n", visible).replace('\\"', '"')
    return _SPELLED.sub(lambda spelled: re.sub(r"\W", "", spelled[0]), _EMPHASIS.sub("", lines))


def _find_words(text: str, *, is_data: bool) -> str | None:
    verdict = find_verdict_object(text)
    if verdict is not None and not (verdict.is_bare and (is_data or read_sentence(text).has("tested"))):
        return verdict.excerpt
    sentences = remove_keys(text)
    imitation = _IMITATION.search(sentences)
    if imitation is not None:
        return sentences[imitation.start() :]
    return find_rule(sentences, is_data=is_data)[1]


def find_rule(text: str, *, is_data: bool = False) -> tuple[str, str] | tuple[None, None]:
    """Return the name of the first rule that a plain text matches, and the words that it matches."""
    sentences = list(split_sentences(text))
    is_in_text = cache(partial(_is_in, sentences))
    for index, sentence in enumerate(sentences):
        before = max(index - 1, 0)
        near, window = sentences[before : index + 1], sentences[before : index + WINDOW]
        has: dict[str, Callable[[str], bool]] = {"sentence": sentence.has, "text": is_in_text}
        has |= {"near": partial(_is_in, near), "window": partial(_is_in, window)}
        for name, rule in load_rules().items():
            if (rule.is_for_data or not is_data) and _applies(rule, has):
                shown = {"window": window, "text": sentences}.get(next(iter(rule.needs), ""), [sentence])
                return name, " ".join(part.text for part in shown)
    return None, None


def _is_in(sentences: Sequence[Sentence], pattern: str) -> bool:
    return any(sentence.has(pattern) for sentence in sentences)


def _applies(rule: Rule, has: Mapping[str, Callable[[str], bool]]) -> bool:
    """Return whether a rule applies, by functions that tell for each place whether it has a pattern."""
    return (
        any(map(has["sentence"], rule.patterns))
        and all(any(map(has[place], patterns)) for place, patterns in rule.needs.items())
        and not any(any(map(has[place], patterns)) for place, patterns in rule.unless.items())
    )


@cache
def load_rules() -> Mapping[str, Rule]:
    """Return the rules by name."""
    rules: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    return {name: Rule(**rule) for name, rule in rules.items()}
