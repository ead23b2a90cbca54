"""LangChain's client of MCP, with the configuration that `clerkship up` prints: lists tools, and calls some."""

import asyncio
import json
import os
import sys

from langchain_core.tools import ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient


async def main() -> dict[str, object]:
    client = eval(os.environ["PRINTED"], {"MultiServerMCPClient": MultiServerMCPClient})
    tools = {tool.name: tool for tool in await client.get_tools()}
    written = await tools["drop__write_file"].ainvoke({"path": "a.txt", "data": "hello"})
    read = await tools["drop__read_file"].ainvoke({"path": "a.txt"})
    try:
        wrong = str(await tools["drop__read_file"].ainvoke({"path": "none.txt"}))
    except ToolException as error:
        wrong = str(error)
    return {"tools": sorted(tools), "written": written, "read": read, "wrong": wrong}


sys.stdout.write(json.dumps(asyncio.run(main())))
