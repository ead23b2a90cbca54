"""Takes the place of Codex: the same options, the same output, the same calls of MCP tools and of the model."""

import argparse
import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any, NoReturn
from urllib.error import HTTPError
from urllib.request import Request, urlopen


class Parser(argparse.ArgumentParser):
    """Refuses unknown options, as the real one does."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"error: {message}\n")
        sys.exit(2)


def call(url: str, token: str, data: Any) -> Any:
    """Post JSON, and return the JSON of the response."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    with urlopen(Request(url, json.dumps(data).encode(), headers)) as response:
        return json.loads(response.read() or b"null")


def read_config(values: list[str]) -> dict[str, Any]:
    """Return the configuration; values that are not TOML are texts."""
    config: dict[str, Any] = {}
    for value in values:
        name, _, text = value.partition("=")
        try:
            config[name] = tomllib.loads(f"x = {text}")["x"]
        except tomllib.TOMLDecodeError:
            config[name] = text
    return config


def use_tool(config: dict[str, Any], name: str, arguments: Any) -> str:
    """Call a tool of the MCP server, if it needs no approval: there is no one to give it."""
    server = "mcp_servers.clerkship"
    if config.get(f"{server}.default_tools_approval_mode") != "approve":
        return "MCP tool call requires approval, but approval policy is never"
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    token = os.environ[config[f"{server}.bearer_token_env_var"]]
    return str(call(config[f"{server}.url"], token, message)["result"]["content"][0]["text"])


def check_websocket(base: str, token: str) -> None:
    """Try a WebSocket first, as the real one does, and go on without it if that is refused with 426."""
    headers = {"Authorization": f"Bearer {token}", "Connection": "Upgrade", "Upgrade": "websocket"}
    try:
        urlopen(Request(f"{base}/responses", headers=headers)).close()
    except HTTPError as error:
        if error.code != 426:
            raise


def work(prompt: str, config: dict[str, Any]) -> str:
    """Ask the model until it answers with text."""
    base, key = config.get("openai_base_url", "https://api.openai.com/v1"), os.environ["CODEX_API_KEY"]
    check_websocket(base, key)
    items: list[Any] = [{"role": "user", "content": prompt}]
    while True:
        outputs = call(f"{base}/responses", key, {"model": "gpt-5.1", "input": items})["output"]
        calls = [item for item in outputs if item["type"] == "function_call"]
        if not calls:
            return str(outputs[0]["content"][0]["text"])
        for each in calls:
            text = use_tool(config, each["name"], json.loads(each["arguments"]))
            items += [each, {"type": "function_call_output", "call_id": each["call_id"], "output": text}]


def main() -> int:
    mode = os.environ.get("STAND_IN", "")
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(os.environ.get("STAND_IN_VERSION", "codex-cli 0.169.0") + "\n")
        return 0
    if sys.argv[1:] == ["login", "status"]:
        return 0 if mode == "logged in" else 1
    parser = Parser(allow_abbrev=False)
    parser.add_argument("command", choices=["exec"])
    for flag in ("--skip-git-repo-check", "--ephemeral"):
        parser.add_argument(flag, action="store_true", required=True)
    parser.add_argument("--color", choices=["always", "never", "auto"])
    parser.add_argument("-o", "--output-last-message", required=True)
    parser.add_argument("-c", "--config", action="append", default=[])
    parser.add_argument("-m", "--model")
    options = parser.parse_args()
    prompt = sys.stdin.read()
    Path(os.environ["STAND_IN_SEEN"]).write_text(
        json.dumps({"argv": sys.argv, "prompt": prompt, "folder": os.getcwd(), "environ": dict(os.environ)})  # noqa: PTH109
    )
    if mode == "fails":
        sys.stderr.write("ERROR: unexpected status 400 Bad Request: no such model\n")
        return 1
    is_alone = mode == "logged in" or mode.startswith("says ")
    message = mode.removeprefix("says ") if is_alone else work(prompt, read_config(options.config))
    Path(options.output_last_message).write_text(message, encoding="utf-8")
    sys.stdout.write(f"{message}\n")
    return 0


sys.exit(main())
