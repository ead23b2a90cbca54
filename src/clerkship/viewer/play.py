"""The page of `clerkship play`, and what it reads and sends."""

from typing import Any

import orjson

from clerkship.sandbox.request import Refusal, Reply, Request, json_reply
from clerkship.service.playing import PlaySession
from clerkship.viewer.answering import HTML
from clerkship.viewer.context import ViewerContext
from clerkship.viewer.templates import render


def show_play(context: ViewerContext, request: Request) -> Reply:
    """Answer with the page on which the task is done."""
    session = _get_session(context)
    return Reply(200, render("play.html", title=f"{session.task}: play", task=session.task).encode(), HTML)


def read_state(context: ViewerContext, request: Request) -> Reply:
    """Answer with the state of the trial, and the events after `after`."""
    after = request.query.get("after", "0")
    if not (after.isascii() and after.isdigit() and len(after) < 10):
        raise Refusal(400, "invalid", "`after` is not the number of an event")
    return json_reply(200, _get_session(context).describe(int(after)))


def read_tools(context: ViewerContext, request: Request) -> Reply:
    """Answer with the sandboxes, their tools, and how to connect to them."""
    return json_reply(200, _get_session(context).describe_tools())


def call_tool(context: ViewerContext, request: Request) -> Reply:
    """Execute a tool, `{"tool": …, "arguments": {…}}`, and answer with what the sandbox replied."""
    session, data = _get_session(context), _read_object(request)
    tool, arguments = data.get("tool"), data.get("arguments", {})
    if not isinstance(tool, str) or not isinstance(arguments, dict):
        raise Refusal(400, "invalid", "expected `tool`, a name, and `arguments`, an object")
    return json_reply(200, session.call(tool, arguments))


def send_answer(context: ViewerContext, request: Request) -> Reply:
    """Take the answer to the task, `{"answer": …}`, or the reply to a message, `{"say": …}`."""
    _get_session(context).answer(_read_object(request))
    return json_reply(200, {})


def give_up(context: ViewerContext, request: Request) -> Reply:
    """End the trial without an answer."""
    _get_session(context).give_up()
    return json_reply(200, {})


def _get_session(context: ViewerContext) -> PlaySession:
    if not isinstance(context.play, PlaySession):
        raise Refusal(404, "no_such_page", "no task is played here: `clerkship play TASK` plays one")
    return context.play


def _read_object(request: Request) -> dict[str, Any]:
    try:
        data = orjson.loads(request.body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, "invalid", f"the body is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise Refusal(400, "invalid", "the body is not a JSON object")
    return data
