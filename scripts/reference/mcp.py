"""The page about MCP."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from clerkship.actors.toolbox import (
    FINISH_TOOL,
    MAX_KEPT_LENGTH,
    MAX_KEPT_RESULTS,
    READ_MORE_TOOL,
    WAIT_TOOL,
)
from clerkship.kit.depth import MAX_DEPTH
from clerkship.mcp.messages import MAX_MESSAGE_BYTES
from clerkship.mcp.server import HANDSHAKE_METHODS, PAGE_SIZE, STATELESS_METHODS, McpTool
from clerkship.mcp.trial_server import MAX_RESULT_LENGTH, TASK_URI
from clerkship.mcp.versions import HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from clerkship.model.environment import Toolset
from clerkship.sandbox.tools import MAX_NAME_LENGTH, Tool, build_tool_name, build_tools
from clerkship.simulators.registry import KINDS
from clerkship.simulators.spec import Spec
from scripts.reference.render import render_page

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class ToolsetSize:
    """What the tools of one kind of simulator take in `tools/list`."""

    kind: str
    all_count: int
    all_tokens: str
    essential_count: int
    essential_tokens: str


def measure_toolset(spec: Spec, toolset: Toolset) -> tuple[int, int]:
    """Return the number of tools of a kind, and of their tokens."""
    tools = build_tools(spec.kind, spec.routes, spec.operations, toolset=toolset)
    return len(tools), count_tokens(tools)


def count_tokens(tools: Sequence[Tool]) -> int:
    """Return about how many tokens a list of tools takes."""
    rendered = [
        McpTool(name=tool.name, description=tool.description, parameters=tool.parameters).render() for tool in tools
    ]
    return len(orjson.dumps(rendered).decode()) // CHARACTERS_PER_TOKEN


def _measure(spec: Spec) -> ToolsetSize:
    (all_count, all_tokens), (count, tokens) = measure_toolset(spec, "all"), measure_toolset(spec, "essential")
    return ToolsetSize(spec.kind, all_count, f"{all_tokens:,}", count, f"{tokens:,}")


def mcp_page() -> str:
    """Return the page."""
    methods = sorted({*HANDSHAKE_METHODS, *STATELESS_METHODS})
    return render_page(
        "mcp.md",
        example=build_tool_name("drop", "read_file"),
        max_name=MAX_NAME_LENGTH,
        own=[(tool.name, tool.description) for tool in (FINISH_TOOL, WAIT_TOOL, READ_MORE_TOOL)],
        max_result=f"{MAX_RESULT_LENGTH:,}",
        kept=MAX_KEPT_RESULTS,
        kept_length=f"{MAX_KEPT_LENGTH:,}",
        sizes=[_measure(entry.load()) for entry in KINDS],
        task_uri=TASK_URI,
        handshake=", ".join(HANDSHAKE_VERSIONS),
        stateless=", ".join(STATELESS_VERSIONS),
        methods=", ".join(f"`{name}`" for name in methods),
        max_message=f"{MAX_MESSAGE_BYTES:,}",
        max_depth=MAX_DEPTH,
        page=PAGE_SIZE,
    )
