"""The kinds of agents in words, for the list of agents and the reference."""

from typing import NamedTuple


class AgentKind(NamedTuple):
    """What follows `--agent`, and the agent that it names."""

    forms: tuple[str, ...]
    """How it is written; the part before the first colon is the name of the kind."""
    description: str

    @property
    def name(self) -> str:
        """The name of the kind."""
        return self.forms[0].partition(":")[0]


AGENT_KINDS = (
    AgentKind(("nop",), "does nothing"),
    AgentKind(("oracle",), "runs the solution of each task"),
    AgentKind(
        ("python:module:name",), "a Python object in this process, or in a process of its own with `--agent-process`"
    ),
    AgentKind(("command:words",), "a program that reads and writes lines of JSON"),
    AgentKind(("claude-code", "claude-code:options"), "Claude Code, installed on this machine"),
    AgentKind(("codex", "codex:options"), "Codex, installed on this machine"),
    AgentKind(("http:address", "https:address"), "a web server that receives POST requests"),
    AgentKind(("openai:model", "openai:model@address"), "a model behind a chat-completions endpoint"),
    AgentKind(("anthropic:model", "anthropic:model@address"), "a model of Anthropic, over its own API"),
    AgentKind(("gemini:model", "gemini:model@address"), "a model of Google AI, over its own API"),
    AgentKind(("rasa:address",), "an assistant behind a Rasa server"),
    AgentKind(("human",), "a person who works in the browser; only with `clerkship play`"),
    AgentKind(("recorded", "recorded:name"), "a recorded agent; needs `--replay`"),
)
