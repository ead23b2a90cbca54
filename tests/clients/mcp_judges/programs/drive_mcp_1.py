"""The official client 1.x: a handshake, lists, calls that succeed and fail, and a resource, over HTTP or a program."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl

URL, TOKEN = os.environ["CLERKSHIP_MCP_URL"], os.environ["CLERKSHIP_MCP_TOKEN"]


async def drive(read: object, write: object) -> dict[str, object]:
    async with ClientSession(read, write) as session:
        begun = await session.initialize()
        await session.send_ping()
        tools = (await session.list_tools()).tools
        written = await session.call_tool("drop__write_file", {"path": "a.txt", "data": "hello"})
        text = await session.call_tool("drop__read_file", {"path": "a.txt"})
        wrong = await session.call_tool("drop__read_file", {"pth": "a.txt"})
        try:
            unknown = str((await session.call_tool("drop__raed_file", {})).content)
        except McpError as error:
            unknown = error.error.code
        resources = (await session.list_resources()).resources
        task = await session.read_resource(AnyUrl("clerkship://task"))
        return {
            "version": begun.protocolVersion,
            "tools": [tool.name for tool in tools],
            "written": written.isError,
            "text": text.content[0].text,
            "wrong": wrong.isError,
            "unknown": unknown,
            "resources": [str(resource.uri) for resource in resources],
            "task": json.loads(task.contents[0].text),
        }


async def main() -> dict[str, object]:
    if sys.argv[1] == "stdio":
        command, *arguments = sys.argv[2:]
        variables = {"CLERKSHIP_MCP_URL": URL, "CLERKSHIP_MCP_TOKEN": TOKEN}
        async with stdio_client(StdioServerParameters(command=command, args=arguments, env=variables)) as streams:
            return await drive(*streams)
    async with streamablehttp_client(URL, {"Authorization": f"Bearer {TOKEN}"}) as (read, write, _):
        return await drive(read, write)


sys.stdout.write(json.dumps(asyncio.run(main())))
