"""Describe the recorded entry that is most similar to a missing one, and the difference."""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from clerkship.model.usage import Role
from clerkship.recording.cassette import Cassette, RecordedEmbedding, RecordedMessage, RecordedQuestion, content_key

MAX_LINES = 24
MAX_LINE_LENGTH = 240
MAX_COMPARED = 200
"""Recordings that are looked at closely."""
MAX_COMPARED_LENGTH = 1000
"""Signs of what differs that are compared with each other."""
_FIELD_NAMES = {
    "shape": "the shape of the answer",
    "parameters": "the model's parameters",
    "sample": "which sample it is",
}


def describe_nearest_question(
    asked: Mapping[str, Any],
    texts: Sequence[str],
    talk: Sequence[RecordedMessage],
    role: Role,
    cassette: Cassette,
    used: Collection[str],
) -> str:
    """Describe how a question differs from the most similar recorded one.

    Among equally similar ones, an entry that the trial has not used is preferred: it is more likely the same
    question in an earlier version.
    """
    known = [entry for entry in cassette.entries.values() if isinstance(entry, RecordedQuestion)]
    if not known:
        return "; nothing is recorded there" if not cassette.entries else "; no question to a model is recorded there"
    written = {content_key(text): text for text in texts}
    prompt = "".join(written[key] for key in asked["prompt"])
    near = _find_nearest(asked, prompt, role, known, cassette, used)
    differs = [name for name, value in asked.items() if getattr(near, name) != value]
    if differs == ["model"]:
        return f"; only the model differs: recorded with {near.model}, asked is {asked['model']}"
    told = [_describe_difference(name, near, asked) for name in differs if name not in ("prompt", "orders", "talk")]
    orders = "".join(written[key] for key in asked["orders"])
    parts = {
        "orders": (cassette.whole(near.orders), orders),
        "talk": (_render_messages(cassette.talk(near.talk)), _render_messages(talk)),
        "prompt": (cassette.whole(near.prompt), prompt),
    }
    shown = "".join(_render_diff(name, *parts[name]) for name in parts if name in differs)
    named = ", ".join((*told, *(f"its {name}" for name in parts if name in differs)))
    whose = f"{near.of[0][0]!r}, trial {near.of[0][1]}"
    return f"; the nearest recorded request is of {whose}, and differs in {named}{shown}"


def describe_nearest_embedding(asked: Mapping[str, Any], cassette: Cassette, used: Collection[str]) -> str:
    """Describe how texts to be embedded differ from the recorded ones."""
    known = [entry for entry in cassette.entries.values() if isinstance(entry, RecordedEmbedding)]
    same = [entry for entry in known if list(entry.given) == list(asked["given"])]
    if same:
        return f"; only the model differs: recorded with {same[0].model}, asked is {asked['model']}"
    return f"; {len(known)} lists of other texts are recorded there"


def _find_nearest(
    asked: Mapping[str, Any],
    prompt: str,
    role: Role,
    known: Iterable[RecordedQuestion],
    cassette: Cassette,
    used: Collection[str],
) -> RecordedQuestion:
    parts = set(asked["prompt"])
    ranked = sorted(
        known,
        key=lambda entry: (
            -_similarity_of_fields(entry, asked, role),
            -len(parts.intersection(entry.prompt)),
            entry.key,
        ),
    )
    lines = prompt.splitlines()
    every = set(lines)

    def score(entry: RecordedQuestion) -> tuple[float, bool, float, str]:
        recorded = cassette.whole(entry.prompt).splitlines()
        others = set(recorded)
        shared = _similarity_of_fields(entry, asked, role) + 3 * len(every & others) / max(len(every | others), 1)
        return shared, entry.key not in used, _similarity_of_changes(recorded, every, lines, others), entry.key

    return max(ranked[:MAX_COMPARED], key=score)


def _similarity_of_changes(
    recorded: Sequence[str], every: Collection[str], lines: Sequence[str], others: Collection[str]
) -> float:
    """Return how similar the differing lines of two prompts are, to find the one criterion that was reworded."""
    was = "\n".join(line for line in recorded if line not in every)[:MAX_COMPARED_LENGTH]
    now = "\n".join(line for line in lines if line not in others)[:MAX_COMPARED_LENGTH]
    return difflib.SequenceMatcher(None, was, now, autojunk=False).ratio()


def _similarity_of_fields(entry: RecordedQuestion, asked: Mapping[str, Any], role: Role) -> float:
    same = sum(bool(getattr(entry, name) == value) for name, value in asked.items())
    return float(same + 2 * bool(entry.prompt == asked["prompt"]) + 2 * (entry.role == role))


def _describe_difference(name: str, near: RecordedQuestion, asked: Mapping[str, Any]) -> str:
    if name == "shape":
        return _FIELD_NAMES[name]
    return f"{_FIELD_NAMES.get(name, f'the {name}')} (recorded {getattr(near, name)!r}, asked {asked[name]!r})"


def _render_messages(talk: Iterable[RecordedMessage]) -> str:
    return "\n".join(f"{said.role}: {said.text}" for said in talk)


def _render_diff(name: str, recorded: str, asked: str) -> str:
    found = difflib.unified_diff(
        recorded.splitlines(), asked.splitlines(), f"{name}, as recorded", f"{name}, as asked", n=1, lineterm=""
    )
    lines = [line if len(line) <= MAX_LINE_LENGTH else f"{line[:MAX_LINE_LENGTH]}…" for line in found]
    more = [f"… and {len(lines) - MAX_LINES} more lines"] if len(lines) > MAX_LINES else []
    return "".join(f"\n{line}" for line in (*lines[:MAX_LINES], *more))
