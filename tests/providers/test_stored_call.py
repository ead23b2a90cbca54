"""The words of stored model calls, in the forms of all providers."""

import json
from typing import Any

import pytest

from clerkship.providers.stored_call import read_answer_text, read_system_prompt
from tests.model_proxy.provider import Call, ReceivedCall, build_answer

PATHS = {
    "/v1/chat/completions": "openai",
    "/v1/responses": "openai",
    "/v1/messages": "anthropic",
    "/v1beta/models/g:generateContent": "gemini",
}


@pytest.mark.parametrize("path", PATHS)
def test_text_of_an_answer_is_read_whole_and_streamed(path: str) -> None:
    for is_stream in (False, True):
        called = path.replace(":generate", ":streamGenerate") if is_stream else path
        received = ReceivedCall("POST", called, {}, json.dumps({"stream": is_stream, "model": "m"}).encode())
        for answer, expected in (("Forty-two — surely.", "Forty-two — surely."), (Call("read", {"path": "a"}), "")):
            whole, events = build_answer(received, answer, 1)
            stored = json.dumps(whole) if events is None else b"".join(events).decode()
            assert read_answer_text(PATHS[path], stored) == expected, (path, is_stream)


@pytest.mark.parametrize("response", ["", "nonsense", "[1]", '{"choices": 1}', 'data: {"choices": [null]}', '"a"'])
def test_answer_that_cannot_be_read_has_no_text(response: str) -> None:
    assert [read_answer_text(provider, response) for provider in ("openai", "anthropic", "gemini", "azure")] == [""] * 4


@pytest.mark.parametrize(
    ("provider", "body", "prompt"),
    [
        (
            "openai",
            {"messages": [{"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}]},
            "Be brief.",
        ),
        ("openai", {"instructions": "Be", "input": [{"role": "system", "content": "brief."}]}, "Be\n\nbrief."),
        ("openai", {"input": "Hello"}, ""),
        ("anthropic", {"system": [{"type": "text", "text": "Be brief."}]}, "Be brief."),
        ("anthropic", {"system": "Be brief."}, "Be brief."),
        ("gemini", {"systemInstruction": {"parts": [{"text": "Be brief."}]}}, "Be brief."),
    ],
)
def test_system_prompt_is_found(provider: str, body: Any, prompt: str) -> None:
    assert read_system_prompt(provider, json.dumps(body)) == prompt
    assert read_system_prompt(provider, json.dumps(body)[:-2]) == ""
