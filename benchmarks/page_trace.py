"""What Chromium records of a page: its tasks, its paints and the marks that a script sets."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page

CATEGORIES = (
    "blink.user_timing",
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "loading",
    "toplevel",
)
_PAINTS = ("Paint", "Commit", "PrePaint")
_MICROSECONDS = 1_000_000


class Span(NamedTuple):
    """Something that took time, in seconds."""

    begin: float
    end: float
    cpu: float = 0.0
    """Processor time of its thread."""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.begin


class TraceIncomplete(Exception):
    """The trace has not what was looked for."""


class PageTrace:
    """The events of one recording."""

    def __init__(self, data: bytes) -> None:
        self._events: list[dict[str, Any]] = json.loads(data)["traceEvents"]

    def first_paint(self) -> float:
        """Return the seconds from the navigation to the first text or picture."""
        starts = {
            _navigation_of(event): event["ts"] for event in self._events if event["name"] == "navigationStart"
        }  # the page before may be painted late
        paint = self._find("firstContentfulPaint", lambda event: _navigation_of(event) in starts)
        return float(paint["ts"] - starts[_navigation_of(paint)]) / _MICROSECONDS

    def find_mark(self, name: str) -> float:
        """Return when the page set a mark."""
        return float(self._find(name, _is_mark)["ts"]) / _MICROSECONDS

    def list_tasks(self, mark: str) -> list[Span]:
        """Return the tasks of the main thread of the page that set a mark."""
        thread = _thread_of(self._find(mark, _is_mark))
        return [_span_of(event) for event in self._events if event["name"] == "RunTask" and _thread_of(event) == thread]

    def find_paint(self, mark: str) -> float:
        """Return the end of the first paint that began after a mark."""
        first = self._find(mark, _is_mark)
        spans = (
            _span_of(event)
            for event in self._events
            if event["name"] in _PAINTS and event["ph"] == "X" and _thread_of(event) == _thread_of(first)
        )
        after = sorted(span for span in spans if span.begin >= first["ts"] / _MICROSECONDS)
        if not after:
            raise TraceIncomplete(f"nothing was painted after {mark}")
        return after[0].end

    def find_request(self, part: str) -> Span:
        """Return the first request whose address has a part: from sending it to the end of the reply."""
        sent = self._find("ResourceSendRequest", lambda event: part in event["args"]["data"]["url"])
        number = sent["args"]["data"]["requestId"]
        end = self._find("ResourceFinish", lambda event: event["args"]["data"]["requestId"] == number)
        return Span(sent["ts"] / _MICROSECONDS, end["ts"] / _MICROSECONDS)

    def _find(self, name: str, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        for event in self._events:
            if event["name"] == name and fits(event):
                return event
        raise TraceIncomplete(f"the trace has no {name}")


def _navigation_of(event: dict[str, Any]) -> str:
    return str(event["args"].get("data", {}).get("navigationId"))


def _is_mark(event: dict[str, Any]) -> bool:
    return str(event["cat"]).startswith("blink.user_timing")


def _thread_of(event: dict[str, Any]) -> tuple[int, int]:
    return event["pid"], event["tid"]


def _span_of(event: dict[str, Any]) -> Span:
    begin, taken, cpu = (event.get(name, 0) / _MICROSECONDS for name in ("ts", "dur", "tdur"))
    return Span(begin, begin + taken, cpu)


def record(browser: Browser, page: Page, work: Callable[[], object]) -> PageTrace:
    """Record what a page does during some work."""
    browser.start_tracing(page=page, categories=list(CATEGORIES))
    try:
        work()
    finally:
        data = browser.stop_tracing()
    return PageTrace(data)
