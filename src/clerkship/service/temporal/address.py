"""The address of a Temporal server with a namespace, and the names of task queues."""

import hashlib
from collections.abc import Collection, Iterator
from itertools import combinations
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from clerkship.kit.extras import describe_install, is_installed
from clerkship.model.errors import InputError, MissingExtra

EXTRA = "temporal"
SCHEME = "temporal://"
DEFAULT_PORT = 7233
DEFAULT_NAMESPACE = "default"
WORKFLOW_QUEUE = "clerkship"
"""The task queue of workflows, which every worker serves."""
CAPABILITIES = ("browser", "isolation", "ocr")
"""What only some workers have, and some trials need."""
MAX_NAME = 200
"""Characters of an agent's name in the name of a task queue; of a longer one there is a hash."""


def require_temporal(what: str) -> None:
    """Raise MissingExtra if the extra is not installed."""
    if not is_installed(EXTRA):
        raise MissingExtra(f"{what} needs the extra `{EXTRA}`; install it with {describe_install(EXTRA)}")


class TemporalAddress(NamedTuple):
    """A Temporal server, and a namespace of it."""

    target: str
    """Host and port."""
    namespace: str

    @classmethod
    def parse(cls, text: str, option: str, namespace: str | None = None) -> Self:
        """Parse `temporal://host[:port][/namespace]`, or the same without the scheme. Raise InputError for another."""
        try:
            parts = urlsplit(text if "://" in text else f"{SCHEME}{text}")
            host, port = parts.hostname, parts.port or DEFAULT_PORT
        except ValueError:
            host, port, parts = None, 0, urlsplit("")
        own = parts.path.strip("/")
        if parts.scheme != "temporal" or not host or "/" in own or parts.query or parts.username:
            raise InputError.of(f"invalid {option} `{text}` (expected: {SCHEME}host[:port][/namespace])")
        host = f"[{host}]" if ":" in host else host
        return cls(f"{host}:{port}", namespace or own or DEFAULT_NAMESPACE)


def build_queue_name(agent: str, needs: Collection[str]) -> str:
    """Return the task queue of the trials of an agent that need some capabilities of their worker."""
    name = agent if len(agent) <= MAX_NAME else hashlib.sha256(agent.encode()).hexdigest()
    return "/".join([WORKFLOW_QUEUE, *sorted(needs), name])


def list_queue_names(agent: str, capabilities: Collection[str]) -> Iterator[str]:
    """Yield the task queues of an agent that a worker with some capabilities can serve."""
    for size in range(len(capabilities) + 1):
        for needs in combinations(sorted(capabilities), size):
            yield build_queue_name(agent, needs)
