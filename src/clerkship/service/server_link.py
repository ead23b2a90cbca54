"""The sandboxes of a task run of a server, with the handles that they have locally."""

import base64
import sys
from contextlib import suppress
from operator import attrgetter
from typing import Any

from clerkship.actors.host_link import Disconnected
from clerkship.actors.host_sandboxes import open_host_sandboxes
from clerkship.actors.sandbox_requests import describe_handle
from clerkship.client import Client, ServerUnreachable
from clerkship.client.errors import BadRequestError, ConflictError
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.server_objects import SandboxError, StartedTask
from clerkship.sandbox.handle import Dropped, Sandboxes


class ServerLink:
    """Sends the requests of handles to a server."""

    def __init__(self, client: Client, task_run_id: str) -> None:
        self._client, self._task_run_id = client, task_run_id

    def request(self, what: str, *, body: bytes = b"", **details: Any) -> Any:
        """Send a request; return its value, or raise the error that it would raise locally."""
        content = {"body": base64.b64encode(body).decode()} if body else {}
        try:
            answer = self._client.send_sandbox_request(self._task_run_id, what, **details, **content)
        except ConflictError as error:
            raise Disconnected(error.detail) from None
        except BadRequestError as error:
            raise ValueError(error.detail) from None
        except ServerUnreachable as error:
            raise Dropped(str(error)) from None
        if answer.error is not None:
            raise _rebuild(answer.error)
        return answer.value


def _rebuild(error: SandboxError) -> Exception:
    """Return the exception that a server names, if it is one of Python or Clerkship.

    Nothing is imported: a server must not choose what is executed here.
    """
    module, _, name = error.type.partition(":")
    if module == "builtins" or module.startswith("clerkship."):
        with suppress(AttributeError, TypeError):
            kind = attrgetter(name)(sys.modules.get(module))
            if issubclass(kind, Exception):
                return kind(error.message)  # type: ignore[no-any-return]
    return RuntimeError(error.message)


def open_server_sandboxes(client: Client, started: StartedTask, catalog: RegisteredCatalog) -> Sandboxes:
    """Return typed handles to the sandboxes of a started task run. Raise UnknownName for a kind that is not here."""
    kinds = {name: str(place["kind"]) for name, place in started.sandboxes.items()}
    places = {name: describe_handle(kind, catalog.simulator(kind).handle) for name, kind in kinds.items()}
    return open_host_sandboxes(ServerLink(client, started.task_run_id), places, catalog.agent_events)
