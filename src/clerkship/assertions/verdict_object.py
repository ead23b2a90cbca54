"""Find a verdict in the form in which a judge gives one: an object with keys of its answer."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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
