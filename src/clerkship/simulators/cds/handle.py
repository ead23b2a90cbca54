"""The Python client of a `cds` sandbox."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from clerkship.formats.cds_hooks.wire_model import CdsService
from clerkship.sandbox.handle import Dropped, Handle, Refused
from clerkship.simulators.cds.serving import AnswerHook, ServedService, ServiceServer, TakeFeedback


class Cds(Handle):
    """Registers CDS services, and reads what became of their cards."""

    def register(self, url: str) -> None:
        """Register the base URL of your services; the EHR discovers them and calls them from then on."""
        self._json("POST", "/services", {"url": url})

    def remove(self) -> None:
        """Remove your services."""
        self.request("DELETE", "/services")

    def services(self) -> list[dict[str, Any]]:
        """Return the services that the EHR discovered."""
        return self._list("/services", "services")

    def hooks(self) -> list[dict[str, Any]]:
        """Return the hooks that fired, with calls, cards and decisions."""
        return self._list("/hooks", "hooks")

    def hook(self, instance: str) -> dict[str, Any]:
        """Return one hook that fired."""
        return self._object("GET", f"/hooks/{instance}")

    @contextmanager
    def serve(
        self,
        services: Mapping[str, AnswerHook] | Iterable[ServedService],
        on_feedback: TakeFeedback | None = None,
    ) -> Iterator[ServiceServer]:
        """Serve functions as CDS services in this process, and register them until the block ends.

        A mapping has a hook and a function each: `{"patient-view": greet}`. The function gets the body of the request
        and returns cards. Use `describe_service` for services with an id, a description or a prefetch of their own.
        """
        items = services.items() if isinstance(services, Mapping) else ()
        served = [describe_service(hook, answer) for hook, answer in items]
        server = ServiceServer(served or [each for each in services if isinstance(each, ServedService)], on_feedback)
        server.start()
        try:
            self.register(server.url)
            yield server
        finally:
            with suppress(Refused, Dropped):  # the run may be over
                self.remove()
            server.stop()


def describe_service(
    hook: str,
    answer: AnswerHook,
    *,
    id: str = "",
    description: str = "",
    prefetch: Mapping[str, str] | None = None,
) -> ServedService:
    """Describe a service: the function that answers, and the data that it wants with each call."""
    name = id or hook
    text = description or (answer.__doc__ or name).strip().splitlines()[0]
    return ServedService(CdsService(hook=hook, id=name, description=text, prefetch=dict(prefetch or {})), answer)
