"""Limit the size of a page: the most urgent trials are shown completely, and the page says what was left out."""

from collections.abc import Sequence
from typing import Any

from clerkship.report.detail import TaskDetail
from clerkship.report.embed import embed_json, render_json
from clerkship.report.trial_card import build_body, build_row, list_cited_events, sort_events

MAX_PAGE_DATA = 8 * 1024 * 1024
"""Bytes of data in one page, besides the list of trials."""


def fit_to_budget(
    details: Sequence[TaskDetail], budget: int = MAX_PAGE_DATA, *, replayed: bool = False
) -> list[dict[str, Any]]:
    """Return every trial as a row; add bodies, then events, in order, while they fit.

    Bodies may take half of the budget: the events of a failure are more useful than the body of yet another pass.
    """
    shown = [build_row(detail) for detail in details]
    bodies = 0
    for place, detail in zip(shown, details, strict=True):
        data = render_json(build_body(detail, replayed=replayed))
        if bodies + len(data) <= budget // 2:
            bodies += len(data)
            place["body"] = embed_json(data)
    room = budget - bodies
    for place, detail in zip(shown, details, strict=True):
        if "body" in place:
            lines = _select_lines(detail, room, budget // 4)
            room -= sum(map(len, lines))
            place["log"] = [embed_json(line) for line in lines]
    return shown


def _select_lines(detail: TaskDetail, room: int, share: int) -> list[bytes]:
    """Return a whole log if it fits; a part of one that is too long for any page; otherwise nothing."""
    lines = [(event["seq"], render_json(event)) for event in sort_events(detail.events)]
    size = sum(len(line) for _, line in lines)
    if size > room:
        lines = _select_cited_lines(lines, share, list_cited_events(detail)) if share <= min(size, room) else []
    return [line for _, line in lines]


def _select_cited_lines(lines: list[tuple[int, bytes]], share: int, needed: set[int]) -> list[tuple[int, bytes]]:
    """Return the lines that the evidence cites, and as many others from the beginning as fit."""
    kept = set()
    for seq, line in sorted(lines, key=lambda numbered: numbered[0] not in needed):
        share -= len(line)
        if share < 0:
            break
        kept.add(seq)
    return [numbered for numbered in lines if numbered[0] in kept]
