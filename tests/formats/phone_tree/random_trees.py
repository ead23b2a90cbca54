"""Random phone trees without mistakes, and random callers."""

from typing import Any

from hypothesis import strategies as st

from clerkship.formats.phone_tree.session import (
    Answered,
    DigitsPressed,
    HookReturned,
    SpeechEnded,
    SpeechStarted,
    Stimulus,
    TimerFired,
)
from clerkship.formats.phone_tree.tree import IvrTree

PHRASES = ("claims", "benefits", "a nurse", "my bill", "operator")
PROMPTS = st.sampled_from(["", "Hello from {company}.", "Please choose.", "One moment, please. It takes a while."])
TYPES = ("say", "menu", "collect", "hook", "branch", "hours", "queue")
EXITS: tuple[dict[str, Any], ...] = (
    {"type": "end", "prompt": "Goodbye, {company}."},
    {"type": "end", "prompt": ""},
    {"type": "transfer", "number": "+15550100123"},
    {"type": "transfer", "representative": "team", "prompt": ""},
    {"type": "voicemail", "prompt": "Leave a message.", "mailbox": "office", "max_length": "30s"},
)
SECONDS = st.sampled_from([0, 1, 3, 6.5, 90])


@st.composite
def draw_trees(draw: st.DrawFn) -> IvrTree:
    """Draw a tree in which every node leads to the next one, and input nodes lead back as well.

    Without a caller a call moves only to later nodes, so it ends.
    """
    count = draw(st.integers(0, 7))
    names = [f"n{index}" for index in range(count + 1)]
    nodes = {name: _draw_node(draw, index, names) for index, name in enumerate(names[:-1])}
    nodes[names[-1]] = draw(st.sampled_from(EXITS))
    fields = {"name": "Random line", "start": names[0], "values": {"company": "Acme"}, "nodes": nodes}
    return IvrTree.model_validate(fields)


def _draw_node(draw: st.DrawFn, index: int, names: list[str]) -> dict[str, Any]:
    following = names[index + 1]
    any_node, later = st.sampled_from(names), st.sampled_from(names[index + 1 :])
    kind = draw(st.sampled_from(TYPES))
    node: dict[str, Any] = {"type": kind}
    if kind in ("say", "menu", "collect"):
        node |= {"prompt": draw(PROMPTS), "interruptible": draw(st.booleans())}
    if kind in ("menu", "collect"):
        node |= {
            "timeout": draw(SECONDS),
            "max_attempts": draw(st.integers(1, 3)),
            "failed": draw(st.none() | later),
            "no_input": draw(PROMPTS),
            "no_match": draw(PROMPTS),
            "repeat_key": draw(st.sampled_from(["*", None])),
        }
    match kind:
        case "say":
            return node | {"next": following}
        case "menu":
            return node | {"choices": _draw_choices(draw, any_node, following)}
        case "collect":
            return node | _draw_entry(draw) | {"next": following}
        case "hook":
            node |= {"hook": "test.look_up", "arguments": {"company": "{company}"}, "prompt": draw(PROMPTS)}
            if draw(st.booleans()):
                outcomes = {"found": following, "not_found": draw(any_node)}
                return node | {"outcomes": outcomes, "max_visits": draw(st.integers(1, 3)), "exhausted": draw(later)}
            return node | {"outcomes": {"found": following, "not_found": draw(later)}}
        case "branch":
            return node | {"variable": "company", "cases": {"Acme": following}, "otherwise": draw(later)}
        case "hours":
            hours = [{"days": ["mon", "fri"], "opens": "08:00", "closes": "09:01"}]
            return node | {"hours": hours, "opened": following, "closed": draw(later)}
        case _:
            wait = draw(SECONDS)
            return node | {
                "wait": wait,
                "wait_up_to": draw(st.none() | st.just(wait + 60)),
                "position": draw(st.integers(1, 9)),
                "announce_every": draw(SECONDS),
                "announcement": draw(st.sampled_from(["", "You are number {position} in line."])),
                "choices": _draw_choices(draw, any_node, draw(any_node)),
                "next": following,
            }


def _draw_choices(draw: st.DrawFn, any_node: st.SearchStrategy[str], first: str) -> list[dict[str, Any]]:
    keys = draw(st.lists(st.sampled_from("0123456789#"), min_size=1, max_size=4, unique=True))
    targets = [first, *(draw(any_node) for _ in keys[1:])]
    return [
        {"key": key, "speech": [phrase], "next": target}
        for key, phrase, target in zip(keys, PHRASES, targets, strict=False)
    ]


def _draw_entry(draw: st.DrawFn) -> dict[str, Any]:
    shortest = draw(st.integers(1, 5))
    return {
        "variable": draw(st.sampled_from(["entered", "company"])),
        "format": draw(st.sampled_from(["digits", "letters_and_digits", "date", "money"])),
        "min_length": shortest,
        "max_length": shortest + draw(st.integers(0, 5)),
        "end_key": draw(st.sampled_from(["#", None])),
        "confirm": draw(st.booleans()),
    }


STIMULI: st.SearchStrategy[Stimulus] = st.one_of(
    st.just(Answered()),
    st.just(TimerFired()),
    st.just(SpeechStarted()),
    st.builds(DigitsPressed, st.text("0123456789*#", max_size=12) | st.just("1" * 300) | st.text(max_size=5)),
    st.builds(
        SpeechEnded,
        st.sampled_from([*PHRASES, "one two three", "yes", "no", "repeat that", "March second 1980", "W one two"])
        | st.text(max_size=30),
    ),
    st.builds(
        HookReturned,
        st.sampled_from(["found", "not_found", "unheard_of"]),
        st.dictionaries(st.sampled_from(["company", "member_id"]), st.text(max_size=5), max_size=2),
    ),
)
"""What can happen to a line, in any order, though it makes no sense."""
