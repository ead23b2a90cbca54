"""`codex`: the command-line program of OpenAI, in its non-interactive mode."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from clerkship.actors.contract import AgentError
from clerkship.actors.installed.program import Launch
from clerkship.actors.reply import MAX_ANSWER_LENGTH
from clerkship.providers.contract import ProviderName
from clerkship.sandbox.mcp_access import SERVER_NAME, TOKEN_VARIABLE

LAST_MESSAGE = "last-message.txt"


class Codex:
    """Codex. It writes its last message to a file, and ignores the variable with the address of its models."""

    name = "codex"
    title = "Codex"
    command = "codex"
    package = "@openai/codex"
    oldest: tuple[int, int, int] = (0, 160, 0)
    provider: ProviderName = "openai"
    login = "codex login"
    login_check: Sequence[str] = ("login", "status")

    def prepare(self, launch: Launch) -> tuple[list[str], dict[str, str]]:
        """Return options without secrets, because other processes can read them."""
        config: dict[str, str | int] = {"project_doc_max_bytes": 0, "check_for_update_on_startup": "false"}
        variables: dict[str, str] = {}
        if launch.mcp is not None:
            server = f"mcp_servers.{SERVER_NAME}"
            config |= {
                f"{server}.url": _quote(launch.mcp.url),
                f"{server}.bearer_token_env_var": _quote(TOKEN_VARIABLE),
            }
            config[f"{server}.default_tools_approval_mode"] = _quote("approve")  # nobody is there to approve a call
            variables[TOKEN_VARIABLE] = launch.mcp.token
        if launch.api_key:
            home = launch.folder / "codex"
            home.mkdir(exist_ok=True)
            config["openai_base_url"] = _quote(launch.base_url)
            variables |= {"CODEX_API_KEY": launch.api_key, "CODEX_HOME": str(home)}
        words = ["exec", "--skip-git-repo-check", "--ephemeral", "--color", "never"]
        words += ["--output-last-message", str(launch.folder / LAST_MESSAGE)]
        return [*words, *(word for name, value in config.items() for word in ("-c", f"{name}={value}"))], variables

    def read_answer(self, output: bytes, folder: Path) -> str:
        """Return the content of the file with its last message."""
        try:
            with (folder / LAST_MESSAGE).open("rb") as file:
                return file.read(4 * MAX_ANSWER_LENGTH + 1).decode(errors="replace")
        except OSError:
            raise AgentError("it ended without a last message") from None

    def read_usage(self, output: bytes) -> Mapping[str, Any]:
        """Return nothing: what it prints is for people."""
        return {}


def _quote(text: str) -> str:
    """Return a text in TOML, whose basic strings are written as in JSON."""
    return orjson.dumps(text).decode()
