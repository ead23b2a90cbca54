"""Requests for the simulated clock, which stands beside the sandboxes of a playground."""

from datetime import timedelta

from clerkship.model.duration import parse_duration
from clerkship.playground.agent_clock import AgentClock, TimeLimit
from clerkship.playground.playground import Playground
from clerkship.sandbox.exchange import Refusal, Reply, Request, json_reply


def answer_clock(playground: Playground, request: Request) -> Reply:
    """Answer `GET /`, `POST /advance?by=10m` and `POST /skip`."""
    clock = AgentClock(playground)
    if (request.method, request.path) == ("POST", "/advance"):
        by = _duration(request.query.get("by", ""))
        try:
            clock.advance(by)
        except TimeLimit as error:
            raise Refusal(400, "time_limit", str(error)) from None
    elif (request.method, request.path) == ("POST", "/skip"):
        return json_reply(200, {"skipped": clock.skip(), "now": clock.now.isoformat()})
    elif (request.method, request.path) != ("GET", "/"):
        raise Refusal(404, "no_such_route", "the clock has GET /, POST /advance?by= and POST /skip")
    return json_reply(200, {"now": clock.now.isoformat()})


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise Refusal(400, "bad_duration", str(error)) from None
