"""Spans of an agent at the gateway: its address for them, and the requests with them."""

from collections.abc import Callable
from functools import partial
from typing import cast

from clerkship.playground.failure import SimulatorBroken, guard
from clerkship.playground.gateway import Gateway
from clerkship.playground.playground import Playground
from clerkship.sandbox.handle import TRACES
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.request import ByteStream, Refusal, Reply, refuse_as_json
from clerkship.sandbox.trace_access import TraceAddress
from clerkship.traces.receiver import TraceReceiver
from clerkship.traces.times import EventTimes
from clerkship.traces.trace_ids import derive_trace_ids
from clerkship.transports.http_parser import IncomingRequest
from clerkship.transports.loop_thread import WorkerPool


class TraceRequest:
    """A request with spans. Those of one trial are answered one after the other."""

    waits = False

    def __init__(self, receiver: TraceReceiver, incoming: IncomingRequest) -> None:
        self._receiver, self._incoming = receiver, incoming
        self.queue = f"{TRACES}/{incoming.sandbox_name}"
        receiver.expect(incoming.sandbox_name)

    def try_answer(self) -> Reply | None:
        """Return None: many spans take a while."""
        return None

    def answer(self) -> Reply:
        """Answer the request. If the receiver fails, the reply is a 500 and the trial is errored."""
        name = self._incoming.sandbox_name
        work = partial(self._receiver.answer, name, self._incoming.request, self._incoming.objection)
        playground = cast(Playground | None, self._receiver.find_trial(name))
        try:
            return work() if playground is None else guard(playground, "a request with spans", work)
        except SimulatorBroken:
            return refuse_as_json(Refusal(500, "internal_error", "the receiver failed; the trial will be errored"))
        finally:
            self._receiver.end_request(name)

    def read(self, stream: ByteStream) -> bytes | None:
        """Return the next part of a streamed response; there is none."""
        return next(stream, None)

    def open_websocket(self, workers: WorkerPool) -> SandboxClient:
        raise AssertionError("the receiver accepts no WebSocket")


def open_traces(
    gateway: Gateway,
    playground: Playground,
    base_url: Callable[[], str],
    trial: tuple[object, ...],
    times: EventTimes | None = None,
    *,
    is_live: bool = False,
) -> TraceAddress:
    """Accept the spans of a trial's agent; return where it sends them.

    The ids of the trace follow from `trial`. `times` records when events are logged, if something does already. With
    `is_live`, spans are logged when they arrive.
    """
    receiver = gateway.get_trace_receiver(TraceReceiver)
    return receiver.open_trial(playground, base_url, derive_trace_ids(*trial), times, is_live=is_live)
