"""What spans say, by the names of several libraries and years."""

from typing import Any

import pytest

from clerkship.traces.conventions import read_facts

CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "chat, new names": (
        "chat gpt-5",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-5",
            "gen_ai.response.model": "gpt-5-2026",
            "gen_ai.response.id": "resp_1",
            "gen_ai.usage.input_tokens": 10,
            "gen_ai.usage.output_tokens": 2,
        },
        {
            "operation": "chat",
            "model": "gpt-5-2026",
            "provider": "openai",
            "response_id": "resp_1",
            "input_tokens": 10,
            "output_tokens": 2,
        },
    ),
    "chat, old names": (
        "openai.chat",
        {
            "gen_ai.system": "OpenAI",
            "gen_ai.request.model": "gpt-4",
            "gen_ai.usage.prompt_tokens": 7,
            "gen_ai.usage.completion_tokens": 3,
        },
        {"operation": "chat", "model": "gpt-4", "provider": "openai", "input_tokens": 7, "output_tokens": 3},
    ),
    "text completion": (
        "text_completion x",
        {"gen_ai.operation.name": "text_completion", "gen_ai.request.model": "x"},
        {"operation": "chat", "model": "x"},
    ),
    "embeddings": (
        "embeddings e",
        {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e"},
        {"operation": "embeddings", "model": "e"},
    ),
    "tool, arguments as JSON": (
        "execute_tool find",
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "find",
            "gen_ai.tool.call.id": "call_1",
            "gen_ai.tool.call.arguments": '{"name": "Ann"}',
            "gen_ai.tool.call.result": "[1, 2]",
        },
        {
            "operation": "execute_tool",
            "tool_name": "find",
            "call_id": "call_1",
            "arguments": {"name": "Ann"},
            "result": [1, 2],
        },
    ),
    "tool, named by its span": (
        "execute_tool find",
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": "Ann", "error.type": "KeyError"},
        {"operation": "execute_tool", "tool_name": "find", "arguments": {"input": "Ann"}, "error": "KeyError"},
    ),
    "agent": ("invoke_agent a", {"gen_ai.operation.name": "invoke_agent"}, {"operation": "invoke_agent"}),
    "an operation that is not known": ("x", {"gen_ai.operation.name": "create_agent"}, {"operation": "other"}),
    "OpenInference LLM": (
        "ChatCompletion",
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "claude",
            "llm.provider": "anthropic",
            "llm.token_count.prompt": 5,
            "llm.token_count.completion": 1,
            "output.value": '{"id": "msg_1", "content": [',
        },
        {
            "operation": "chat",
            "model": "claude",
            "provider": "anthropic",
            "input_tokens": 5,
            "output_tokens": 1,
            "response_id": "msg_1",
        },
    ),
    "OpenInference LLM that was streamed": (
        "ChatCompletion",
        {"openinference.span.kind": "LLM", "output.value": '{"choices": [{"id": "x"}], "id": "chatcmpl-1"}'},
        {"operation": "chat", "response_id": "chatcmpl-1"},
    ),
    "OpenInference TOOL": (
        "find",
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "find",
            "input.value": '{"name": "Ann"}',
            "output.value": "none found",
        },
        {"operation": "execute_tool", "tool_name": "find", "arguments": {"name": "Ann"}, "result": "none found"},
    ),
    "OpenInference AGENT": ("run", {"openinference.span.kind": "AGENT"}, {"operation": "invoke_agent"}),
    "OpenInference CHAIN": ("run", {"openinference.span.kind": "CHAIN"}, {"operation": "other"}),
    "Claude Code, model": (
        "claude_code.llm_request",
        {
            "model": "claude",
            "input_tokens": 4,
            "output_tokens": 2,
            "cache_read_tokens": 3,
            "cache_creation_tokens": 1,
        },
        {"operation": "chat", "model": "claude", "input_tokens": 8, "output_tokens": 2},
    ),
    "Claude Code, tool": (
        "claude_code.tool",
        {"tool_name": "Bash", "tool_use_id": "toolu_1"},
        {"operation": "execute_tool", "tool_name": "Bash", "call_id": "toolu_1"},
    ),
    "Claude Code, within a tool": ("claude_code.tool.execution", {"tool_name": "Bash"}, {"operation": "other"}),
    "any other": ("GET", {"http.request.method": "GET"}, {"operation": "other"}),
    "own attributes": ("x", {"clerkship.step": 3}, {"operation": "other", "own": {"step": 3}}),
    "wrong types": (
        "x",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": ["a"],
            "gen_ai.usage.input_tokens": "many",
            "gen_ai.usage.output_tokens": -1,
        },
        {"operation": "chat", "model": "['a']", "input_tokens": None},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_facts_of_a_span(case: str) -> None:
    name, attributes, expected = CASES[case]
    facts = read_facts(name, attributes)
    assert {field: getattr(facts, field) for field in expected} == expected
    others = facts._asdict().keys() - expected.keys()
    assert all(not getattr(facts, field) for field in others)
