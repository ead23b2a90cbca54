"""The official client 2.x: lists, calls that succeed and fail, and a resource, over HTTP or a program."""

import asyncio
import json
import os
import sys

import httpx2
from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

URL, TOKEN = os.environ["CLERKSHIP_MCP_URL"], os.environ["CLERKSHIP_MCP_TOKEN"]


async def drive(client: Client) -> dict[str, object]:
    tools = (await client.list_tools()).tools
    written = await client.call_tool("drop__write_file", {"path": "a.txt", "data": "hello"})
    text = await client.call_tool("drop__read_file", {"path": "a.txt"})
    wrong = await client.call_tool("drop__read_file", {"pth": "a.txt"})
    try:
        unknown = str((await client.call_tool("drop__raed_file", {})).content)
    except MCPError as error:
        unknown = error.error.code
    resources = (await client.list_resources()).resources
    task = await client.read_resource("clerkship://task")
    return {
        "version": client.protocol_version,
        "tools": [tool.name for tool in tools],
        "written": written.is_error,
        "text": text.content[0].text,
        "wrong": wrong.is_error,
        "unknown": unknown,
        "resources": [str(resource.uri) for resource in resources],
        "task": json.loads(task.contents[0].text),
    }


async def main() -> dict[str, object]:
    transport, mode, *words = sys.argv[1:]
    if transport == "stdio":
        variables = {"CLERKSHIP_MCP_URL": URL, "CLERKSHIP_MCP_TOKEN": TOKEN}
        server = StdioServerParameters(command=words[0], args=words[1:], env=variables)
        async with Client(server, mode=mode) as client:
            return await drive(client)
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"})
    async with http, Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
        return await drive(client)


sys.stdout.write(json.dumps(asyncio.run(main())))
