"""An endpoint with Anthropic's Messages API on loopback, with answers defined by a test."""

import json
from typing import Any

from clerkship.engine.model_build import build_model
from clerkship.llm.contract import Model
from clerkship.model.model_choice import ModelChoice
from clerkship.settings import Settings
from tests.actors.servers import Answered, Served

KEY = "sk-ant-nobody-shall-read-this"


def wrote(*blocks: dict[str, Any], stop: str = "end_turn", **used: int) -> Answered:
    """Return a message with these blocks."""
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 5, **used},
    }
    return 200, {"Content-Type": "application/json"}, json.dumps(message).encode()


def text(words: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": words}


def called(arguments: Any) -> dict[str, Any]:
    """Return a block that calls the tool."""
    return {"type": "tool_use", "id": "toolu_1", "name": "answer", "input": arguments}


def failed(status: int, message: str, **headers: str) -> Answered:
    """Return an error in Anthropic's format."""
    error = {"type": "error", "error": {"type": "some_error", "message": message}}
    return status, {"Content-Type": "application/json", **headers}, json.dumps(error).encode()


def claude(served: Served, **more: Any) -> Model:
    """Return a model at the test server, built as a run builds it."""
    settings = Settings(anthropic_api_key=KEY, anthropic_base_url=served.url)
    found = build_model(ModelChoice(who="anthropic:claude", **more), settings)
    assert found is not None
    return found
