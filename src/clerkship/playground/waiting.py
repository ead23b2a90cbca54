"""Let simulated time pass, with a stop at each call that a sandbox makes to the agent."""

from datetime import datetime, timedelta

from clerkship.playground.playground import Playground


def wait(playground: Playground, by: timedelta) -> None:
    """Let simulated time pass; a stepped clock stops at each thing due until calls to the agent have been made."""
    with playground.lock:
        _make_calls(playground)
        end = playground.now + by
        while (due := playground.clock.next_due()) is not None and due <= end and playground.clock_hold.is_used:
            _advance_to(playground, due)
        _advance_to(playground, end)


def skip(playground: Playground) -> bool:
    """Advance to the next thing due; return false if there is none."""
    with playground.lock:
        _make_calls(playground)
        due = playground.clock.next_due()
        if due is None:
            return False
        _advance_to(playground, due)
        return True


def _advance_to(playground: Playground, time: datetime) -> None:
    playground.clock.advance(max(time - playground.now, timedelta(0)))
    _make_calls(playground)


def _make_calls(playground: Playground) -> None:
    """Wait until sandboxes have called the agent. Deliveries learn of events by lines of the log: write them."""
    if not playground.clock_hold.is_used or playground.environment.time != "stepped":
        return
    holds = not playground.writer.hold()
    playground.writer.release()
    playground.clock_hold.wait()
    if holds:
        playground.writer.hold()
