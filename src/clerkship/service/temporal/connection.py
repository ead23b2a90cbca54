"""Connect to Temporal, and wait out its failures."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.service import RPCError, RPCStatusCode

from clerkship.kit.wall import monotonic
from clerkship.model.errors import PlatformError
from clerkship.service.temporal.address import TemporalAddress

T = TypeVar("T")
MAX_OUTAGE_SECONDS = 600.0
"""How long a server may be away before a run is given up. It can be resumed."""
RETRY_SECONDS = 0.5
_TRANSIENT = {
    RPCStatusCode.UNAVAILABLE,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.RESOURCE_EXHAUSTED,
    RPCStatusCode.CANCELLED,
    RPCStatusCode.UNKNOWN,
    RPCStatusCode.INTERNAL,
    RPCStatusCode.ABORTED,
}


class TemporalFailed(PlatformError):
    """A Temporal server cannot be reached, or has refused a request."""

    def __init__(self, message: str, *, is_missing: bool = False) -> None:
        super().__init__(message)
        self.is_missing = is_missing
        """Whether what was asked for is not there."""


async def connect(address: TemporalAddress) -> Client:
    """Connect to a server. Certificates and keys are those of Temporal's own variables and configuration file."""
    config = ClientConfig.load_client_connect_config()
    config["target_host"], config["namespace"] = address
    try:
        return await Client.connect(**config, runtime=_build_runtime())
    except (RuntimeError, RPCError, OSError) as error:
        raise TemporalFailed(f"no Temporal server answers at {address.target}: {error}") from None


def _build_runtime() -> Runtime:
    """Return a runtime that logs errors alone: each retry while a server is away would be a line."""
    levels = TelemetryFilter(core_level="ERROR", other_level="ERROR")
    return Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter=levels)))


def is_transient(error: RPCError) -> bool:
    """Return whether a request may succeed later."""
    return error.status in _TRANSIENT


async def retry_outage(call: Callable[[], Awaitable[T]]) -> T:
    """Repeat a call while the server is away. Raise TemporalFailed if that takes too long, or for another error."""
    deadline = monotonic() + MAX_OUTAGE_SECONDS
    while True:
        try:
            return await call()
        except RPCError as error:
            if not is_transient(error) or monotonic() > deadline:
                is_missing = error.status == RPCStatusCode.NOT_FOUND
                raise TemporalFailed(f"the Temporal server failed: {error.message}", is_missing=is_missing) from None
        await asyncio.sleep(RETRY_SECONDS)
