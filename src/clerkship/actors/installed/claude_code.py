"""`claude-code`: the command-line program of Anthropic, in its non-interactive mode."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from clerkship.actors.contract import AgentError
from clerkship.actors.installed.program import Launch
from clerkship.actors.messages import excerpt
from clerkship.providers.contract import ProviderName, count_of, object_of, text_of
from clerkship.sandbox.mcp_access import SERVER_NAME

_VARIABLES = {
    "ENABLE_TOOL_SEARCH": "false",  # otherwise MCP tools are hidden behind a search
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
}
_INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class ClaudeCode:
    """Claude Code. It prints one JSON object, whose `result` is its last message."""

    name = "claude-code"
    title = "Claude Code"
    command = "claude"
    package = "@anthropic-ai/claude-code"
    oldest: tuple[int, int, int] = (2, 1, 0)
    provider: ProviderName = "anthropic"
    login = "claude auth login"
    login_check: Sequence[str] = ("auth", "status")

    def prepare(self, launch: Launch) -> tuple[list[str], dict[str, str]]:
        """Write the MCP configuration. With a key, the program gets a configuration folder of its own."""
        config = launch.folder / "mcp.json"
        config.touch(mode=0o600)  # it holds the token
        servers: dict[str, Any] = {}
        if launch.mcp is not None:
            headers = {"Authorization": f"Bearer {launch.mcp.token}"}
            servers[SERVER_NAME] = {"type": "http", "url": launch.mcp.url, "headers": headers}
        config.write_bytes(orjson.dumps({"mcpServers": servers}))
        words = ["-p", "--output-format", "json", "--no-session-persistence", "--strict-mcp-config"]
        words += [f"--mcp-config={config}", f"--allowedTools=mcp__{SERVER_NAME}"]
        variables = dict(_VARIABLES)
        if launch.api_key:
            variables |= {"ANTHROPIC_BASE_URL": launch.base_url, "ANTHROPIC_API_KEY": launch.api_key}
            variables |= {"CLAUDE_CONFIG_DIR": str(launch.folder / "claude")}
        return words, variables

    def read_answer(self, output: bytes, folder: Path) -> str:
        """Return the `result` of the object that was printed last."""
        printed = _parse_result(output)
        if not printed:
            raise AgentError(f"it printed no result as JSON: {excerpt(output)}")
        result = text_of(printed.get("result"))
        if printed.get("is_error") is not False:
            raise AgentError(f"it failed: {result[:1000] or text_of(printed.get('subtype')) or 'it gives no reason'}")
        return result

    def read_usage(self, output: bytes) -> Mapping[str, Any]:
        """Return turns, tokens and cost, as it counts them."""
        printed = _parse_result(output)
        usage, cost = object_of(printed.get("usage")), printed.get("total_cost_usd")
        if not usage:
            return {}
        return {
            "calls": count_of(printed.get("num_turns")),
            "prompt_tokens": sum(count_of(usage.get(name)) for name in _INPUT_TOKENS),
            "completion_tokens": count_of(usage.get("output_tokens")),
            "cost": cost if isinstance(cost, float | int) else None,
        }


def _parse_result(output: bytes) -> Mapping[str, Any]:
    """Return the last line that is an object of type `result`; an empty one if there is none."""
    for line in reversed(output.splitlines()):
        try:
            printed = object_of(orjson.loads(line))
        except orjson.JSONDecodeError:
            continue
        if printed.get("type") == "result":
            return printed
    return {}
