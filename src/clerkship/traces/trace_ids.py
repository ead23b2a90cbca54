"""Ids of traces and spans, derived from what they are about: equal runs have equal ids."""

import hashlib
from typing import NamedTuple


class TraceIds(NamedTuple):
    """The ids of one trial's trace."""

    trace_id: str

    def span_id(self, *about: object) -> str:
        """Return the id of one of our own spans."""
        return _digest(8, self.trace_id, *about)

    @property
    def agent_span_id(self) -> str:
        """The id of the span that contains all that the agent does."""
        return self.span_id("agent")

    @property
    def traceparent(self) -> str:
        """The header of W3C Trace Context for what the agent does, with the flag `sampled`."""
        return f"00-{self.trace_id}-{self.agent_span_id}-01"


def derive_trace_ids(*about: object) -> TraceIds:
    """Return the ids of the trace of a trial, which is identified by these values."""
    return TraceIds(_digest(16, *about))


def _digest(size: int, *about: object) -> str:
    return hashlib.blake2b("\0".join(map(str, about)).encode(), digest_size=size).hexdigest()
