"""Where an agent sends its spans, so that they become events of its trial."""

from typing import NamedTuple

TOKEN_HEADER = "x-clerkship-token"
PROTOCOL = "http/protobuf"
EXPORT_DELAY_MS = "200"
"""How long an SDK collects spans before it sends them, in milliseconds."""


class TraceAddress(NamedTuple):
    """The address of a trial's traces, the token that it needs, and the span to which those of the agent belong."""

    endpoint: str
    """As `OTEL_EXPORTER_OTLP_ENDPOINT` has it: exporters add `/v1/traces`."""
    token: str
    traceparent: str
    """The trace and the parent of the agent's spans (W3C Trace Context)."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers that each request needs."""
        return {TOKEN_HEADER: self.token}

    def describe(self) -> dict[str, object]:
        """Return the address as messages to agents have it."""
        return {"endpoint": self.endpoint, "headers": self.headers, "traceparent": self.traceparent}


def list_trace_variables(address: TraceAddress | None) -> dict[str, str]:
    """Return the environment variables that exporters read, and `TRACEPARENT`."""
    if address is None:
        return {}
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": address.endpoint,
        "OTEL_EXPORTER_OTLP_HEADERS": ",".join(f"{name}={value}" for name, value in address.headers.items()),
        "OTEL_EXPORTER_OTLP_PROTOCOL": PROTOCOL,
        "OTEL_BSP_SCHEDULE_DELAY": EXPORT_DELAY_MS,
        "TRACEPARENT": address.traceparent,
    }
