"""Messages to and from an agent outside this process, the same over pipes and HTTP."""

import json
import math
import sys
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import JsonValue

from clerkship.actors.contract import AgentError, EntryPointName, History, Message, ReplyPart, Say
from clerkship.actors.reply import MAX_REPORTS, parse_answer, parse_replies, parse_report, report_fields
from clerkship.kit.depth import MAX_DEPTH, is_deeper_than
from clerkship.sandbox.handle import Sandboxes

MAX_REPLY_BYTES = 8_000_000
"""Bytes of one line or body; answers and texts have lower limits, which are checked later."""
TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep"


def _history_message(history: History) -> dict[str, Any]:
    """Return a conversation: the person's messages, each with what an agent replied, in the format of replies."""
    turns = [
        {
            "turn": turn.turn,
            "text": turn.text,
            "metadata": turn.metadata,
            "say": [render_reply_part(part) for part in turn.answer],
        }
        for turn in history.turns
    ]
    return {"turns": turns, "slots": dict(history.slots)}


def render_reply_part(part: ReplyPart) -> dict[str, Any]:
    """Return a part of a reply in the format of `say`."""
    if isinstance(part, Say):
        return {key: value for key, value in part.fields().items() if key == "text" or value}
    return report_fields(part)


def _describe_channel(message: Message) -> dict[str, Any]:
    """Return channel, address and subject of a message; nothing on a chat."""
    if message.channel is None:
        return {}
    return {"channel": message.channel, "address": message.address, "subject": message.subject}


def task_message(task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> dict[str, Any]:
    """Return the message that gives an agent a task."""
    return {"type": "task", "task_item": task_item, **describe_sandboxes(sandboxes)}


def render_task_item(task_item: Mapping[str, JsonValue]) -> str:
    """Return the instruction, followed by the other fields of the task, as text for a model."""
    instruction = task_item.get("instruction")
    rest = {key: value for key, value in task_item.items() if key != "instruction" or not isinstance(value, str)}
    parts = [instruction] if isinstance(instruction, str) else []
    return "\n\n".join([*parts, orjson.dumps(rest, option=orjson.OPT_INDENT_2).decode()] if rest else parts)


def describe_sandboxes(sandboxes: Sandboxes) -> dict[str, Any]:
    """Return addresses and credentials of all sandboxes, models and traces, and the time; this starts the listener."""
    places: dict[str, dict[str, Any]] = {
        name: {"kind": handle.kind, "url": handle.url, "token": handle.token, **handle.credentials, **handle.listeners}
        for name, handle in sandboxes.items()
    }
    clock = next(
        ({"url": _sibling_url(place["url"], "clock"), "token": place["token"]} for place in places.values()),
        None,  # no sandbox, no listener, no clock
    )
    models = {provider: address._asdict() for provider, address in sandboxes.models.items()}
    given: dict[str, Any] = {"sandboxes": places, "clock": clock, "now": sandboxes.now.isoformat()}
    if (mcp := sandboxes.mcp) is not None:
        given["mcp"] = mcp._asdict()
    if models:
        given["models"] = models
    traces = sandboxes.traces
    return given if traces is None else {**given, "traces": traces.describe()}


def _sibling_url(url: str, name: str) -> str:
    return f"{url.rpartition('/')[0]}/{name}"


def parse_object(data: bytes, what: str) -> dict[str, Any]:
    """Parse a JSON object; raise AgentError with the beginning of invalid data."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise AgentError(f"{what} {describe_invalid_json(data)}: {excerpt(data)}") from None
    if not isinstance(value, dict):
        raise AgentError(f"{what} is not a JSON object: {excerpt(data)}")
    return value


def describe_invalid_json(data: bytes) -> str:
    """Return what is wrong with data that orjson cannot read: most often that it is not JSON."""
    try:
        value = json.loads(data, parse_int=_parse_number, parse_float=_parse_number, parse_constant=_refuse_constant)
    except RecursionError:
        return TOO_DEEP
    except OverflowError:
        return f"has a number that is too large (the limit is {sys.float_info.max:.1e})"
    except ValueError:
        return "is not JSON"
    return TOO_DEEP if is_deeper_than(value) else "has half of a surrogate pair in a text, which is not Unicode"


def _parse_number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise OverflowError
    return number


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def excerpt(data: bytes) -> str:
    """Return the beginning of data, for an error."""
    text = data[:400].decode(errors="replace").strip()
    return repr(text[:200]) + ("…" if len(text) > 200 else "")


def parse_say(reply: Mapping[str, Any], what: str, sandboxes: Sandboxes) -> list[ReplyPart]:
    """Return the `say` of a reply to a turn."""
    _check_keys(reply, "say", what)
    return parse_replies(reply["say"], sandboxes.agent_events)


def parse_task_answer(reply: Mapping[str, Any], what: str) -> JsonValue:
    """Return the `answer` of a reply to a task."""
    _check_keys(reply, "answer", what)
    return parse_answer(reply["answer"])


def _check_keys(reply: Mapping[str, Any], key: str, what: str) -> None:
    if key not in reply:
        raise AgentError(f"{what} has no `{key}`; found: {', '.join(map(repr, sorted(reply)[:10])) or 'nothing'}")
    extra = sorted(reply.keys() - {key, "report"})
    if extra:
        raise AgentError(f"{what} has `{extra[0][:80]}` beside `{key}`; expected only `{key}` and `report`")


class MessageAgent:
    """The common part of agents outside this process: stores histories, and logs reports up to a limit."""

    entries: frozenset[EntryPointName] = frozenset({"on_history", "on_turn", "on_task"})

    def __init__(self) -> None:
        self._histories: dict[str, History] = {}
        self._reported = 0

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None:
        """Store the history for the next message of its conversation."""
        self._histories[history.conversation] = history

    def turn_message(self, message: Message, sandboxes: Sandboxes) -> dict[str, Any]:
        """Return the message for a turn; with the conversation so far, if another agent had it."""
        history = self._histories.pop(message.conversation, None)
        return ({"history": _history_message(history)} if history is not None else {}) | {
            "type": "turn",
            "text": message.text,
            "turn": message.turn,
            "sandbox": message.sandbox,
            "task_item": message.task_item,
            "slots": dict(message.slots),
            "metadata": message.metadata,
            **_describe_channel(message),
            **describe_sandboxes(sandboxes),
        }

    def take_reports(self, reply: Mapping[str, Any], sandboxes: Sandboxes) -> None:
        """Log what a reply reports: `{"kind": "agent.slot.set", "name": …, "value": …}`, or a list of such maps."""
        reports = reply.get("report", [])
        for report in reports if isinstance(reports, list) else [reports]:
            self._reported += 1
            if self._reported > MAX_REPORTS:
                raise AgentError(f"it reported more than {MAX_REPORTS:,} events")
            sandboxes.report(parse_report(report, sandboxes.agent_events))
