"""Which share of the lines of callers a representative understands: what is asked, which values, and what else."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clerkship.formats.phone_tree.caller_line import CallerLine, read_line
from clerkship.formats.phone_tree.representative_script import RepresentativeScript
from clerkship.formats.phone_tree.session import CALLER, RepresentativeSession, Slot
from clerkship.formats.phone_tree.shipped import load_representative

FOLDER = Path(__file__).parent


def find_number(script: RepresentativeScript, phrase: str | None) -> int | None:
    """Return the number of the answer with a phrase."""
    if phrase is None:
        return None
    [number] = [number for number, answer in enumerate(script.answers) if phrase in answer.asks]
    return number


def build_session(script: RepresentativeScript, part: Mapping[str, Any]) -> RepresentativeSession:
    """Return what the representative remembers before a line."""
    number, doubted = find_number(script, part.get("intent")), part.get("doubted", ())
    slots = {
        name: Slot(value=value, source=CALLER, state="doubted" if name in doubted else "stated")
        for name, value in part.get("known", {}).items()
    }
    return RepresentativeSession(
        representative=script.name,
        phase="listening",
        slots=slots,
        is_verified=part.get("is_verified", False),
        asked_for=part.get("asked_for", ""),
        intent="" if number is None else str(number),
    )


def is_understood(script: RepresentativeScript, line: CallerLine, label: Mapping[str, Any]) -> bool:
    """Return whether a line was read as it is labelled."""
    is_act_right = line.act == label["act"] if "act" in label else line.act not in ("end", "person")
    is_intent_right = line.intent == find_number(script, label.get("intent"))
    return is_act_right and is_intent_right and line.values == label.get("values", {})


def read_lines(name: str) -> Iterator[tuple[str, CallerLine, bool]]:
    """Yield the lines of a file, what they were read as, and whether that is right."""
    for part in yaml.safe_load((FOLDER / name).read_text("utf-8")):
        script = load_representative(part["script"])
        session = build_session(script, part)
        for label in part["lines"]:
            line = read_line(script, session, label["says"])
            yield label["says"], line, is_understood(script, line, label)


@pytest.mark.parametrize(("name", "floor"), [("caller_lines.yml", 0.95), ("caller_lines_held_out.yml", 0.9)])
def test_share_of_callers_lines_that_is_understood(name: str, floor: float) -> None:
    lines = list(read_lines(name))
    share = sum(is_right for _, _, is_right in lines) / len(lines)
    print(f"{name}: {share:.1%} of {len(lines)} lines understood")  # noqa: T201  (shown by -s)
    missed = [f"{says} -> {line}" for says, line, is_right in lines if not is_right]
    assert len(lines) >= 100
    assert share >= floor, "\n".join(missed)
