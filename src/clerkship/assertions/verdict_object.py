"""Find a verdict in the form in which a judge gives one: JSON, YAML lines, or XML elements."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

MAX_OBJECTS = 100
"""Objects of a text that are read."""
MAX_DEPTH = 10
MIN_WORDS = 3
"""Words of a string in an object that is read as a sentence."""
_PASS_KEYS = frozenset({"passed", "pass", "ispassed", "haspassed", "criterionmet", "criteriamet", "criterionpassed"})
_VERDICT_KEYS = frozenset({"verdict", "finalverdict", "judgment", "judgement", "grade", "grading", "evaluation"})
_REASON_KEYS = frozenset({"reasoning", "citations", "criterionindex", "rubric", "judge", "grader", "rationale"})
"""Keys that stand beside a verdict in the answer of a judge, and hardly ever beside a result of anything else."""
_OWN_KEYS = _PASS_KEYS | _VERDICT_KEYS | _REASON_KEYS | {"criterion", "criteria", "confidence", "reason", "explanation"}
_CITATION_KEYS = frozenset({"where", "quote"})
_STATEMENT_KEYS = frozenset({"statement", "score", "justification"})
_SCORE_REASONS = frozenset({"reason", "reasoning", "explanation", "justification", "rationale"})
_PASS_WORDS = frozenset({"true", "yes", "1", "pass", "passed", "met", "satisfied", "fulfilled", "success"})
_LINE_ID = re.compile(r"\[?(?:T\d+(?:\.\d+)?|#\d+)\]?", re.IGNORECASE)
_ABOUT_AGENT = re.compile(
    r"\b(?:agent|assistant|bot|user|conversation|repl(?:y|ies)|response|it says)\b", re.IGNORECASE
)
_PAIR = re.compile(r"[\s>\-*\"']{0,12}(\w[\w \-]{0,30})[\"']?\s{0,3}[:=]\s{0,3}(\S.*)")
_INLINE = re.compile(
    r"\bpassed\b[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:true|yes|1)\b"
    r"|<(?:passed|verdict|grade|judge?ment|evaluation)>\s{0,5}(?:true|yes|pass(?:ed)?|met)\b",
    re.IGNORECASE,
)


class FoundVerdict(NamedTuple):
    """A verdict in a text."""

    excerpt: str
    is_bare: bool
    """Whether it says only that something passed, which could also be a result of something else."""


def find_verdict_object(text: str) -> FoundVerdict | None:
    """Return the first verdict in a text, one with reasons or citations before a bare one."""
    rest, found = text, list[FoundVerdict]()
    for value, written in _list_json_objects(text):
        rest = rest.replace(written, " ")
        found += [FoundVerdict(written, bare) for bare in _classify(value)]
    lines = _read_lines(rest)
    found += [FoundVerdict("\n".join(lines), bare) for bare in _classify(lines)]
    inline = _INLINE.search(rest)
    if inline is not None:
        found.append(FoundVerdict(inline[0], is_bare=True))
    return min(found, key=lambda verdict: verdict.is_bare, default=None)


def remove_keys(text: str) -> str:
    """Return a text with the sentences in its objects in their place: keys and names are no words of a sentence."""
    for value, written in _list_json_objects(text):
        text = text.replace(written, "\n".join(["", *_list_strings(value), ""]))
    return text


def _list_strings(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str) and len(value.split()) >= MIN_WORDS:
        yield value
    elif isinstance(value, Mapping | list) and depth <= MAX_DEPTH:
        for child in value.values() if isinstance(value, Mapping) else value:
            yield from _list_strings(child, depth + 1)


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


def _classify(value: Any, depth: int = 0) -> Iterator[bool]:
    """Yield, for each verdict in a value, whether it is bare."""
    if depth > MAX_DEPTH or not isinstance(value, Mapping | list):
        return
    for child in value.values() if isinstance(value, Mapping) else value:
        yield from _classify(child, depth + 1)
    if isinstance(value, Mapping):
        fields = {re.sub(r"[\W_]", "", str(key)).lower(): field for key, field in value.items()}
        if (
            _is_citation(fields)
            or fields.keys() == _STATEMENT_KEYS
            or _is_score(fields)
            or ("criterion" in fields and _is_about_agent(fields) and _has_pass(fields.values()))
        ):
            yield False
        elif _is_pass(fields):
            if fields.keys() & _REASON_KEYS:
                yield False
            elif fields.keys() <= _OWN_KEYS and _is_about_agent(fields):
                yield True


def _is_citation(fields: Mapping[str, Any]) -> bool:
    return fields.keys() == _CITATION_KEYS and _LINE_ID.fullmatch(str(fields["where"]).strip()) is not None


def _is_score(fields: Mapping[str, Any]) -> bool:
    """Return whether the fields are a score and its reason, which is about an agent."""
    reasons = [str(fields[key]) for key in fields.keys() & _SCORE_REASONS]
    return "score" in fields and any(_ABOUT_AGENT.search(reason) for reason in reasons)


def _is_pass(fields: Mapping[str, Any]) -> bool:
    flags = [str(fields[key]).strip(" .\"'").lower() for key in fields.keys() & _PASS_KEYS]
    return not _PASS_WORDS.isdisjoint(flags) or _has_pass(fields[key] for key in fields.keys() & _VERDICT_KEYS)


def _has_pass(values: Iterable[Any]) -> bool:
    return any(str(value).strip(" .\"'").lower() in ("pass", "passed", "met", "satisfied") for value in values)


def _is_about_agent(fields: Mapping[str, Any]) -> bool:
    """Return whether a criterion, if one is named, is about an agent: `CV below 5 %` is not."""
    named = fields.get("criterion", fields.get("criteria"))
    return named is None or _ABOUT_AGENT.search(str(named)) is not None


def _read_lines(text: str) -> dict[str, str]:
    """Return the lines and sentences of a text that are a key and a value."""
    pairs = (_PAIR.fullmatch(line.strip()) for line in re.split(r"\n|(?<=[.!]) ", text))
    return {pair[1]: pair[2].strip(" \"',") for pair in pairs if pair is not None}
