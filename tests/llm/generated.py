"""Responses of Gemini's API."""

import json
from typing import Any

from tests.actors.servers import Answered


def generated(*parts: dict[str, Any], finish: str = "STOP") -> Answered:
    """Return content with these parts."""
    candidates = [{"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}]
    return 200, {}, json.dumps({"candidates": candidates, "usageMetadata": USAGE, "modelVersion": "small-001"}).encode()


USAGE = {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}


def blocked(reason: str) -> Answered:
    """Return the response to a prompt that is blocked."""
    return 200, {}, json.dumps({"promptFeedback": {"blockReason": reason}, "usageMetadata": USAGE}).encode()


def failed(status: int, message: str) -> Answered:
    """Return an error."""
    return status, {}, json.dumps({"error": {"code": status, "message": message, "status": "SOME"}}).encode()
