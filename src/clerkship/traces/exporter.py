"""Sends the traces of a run to a collector over OTLP/HTTP, in a thread that neither slows nor fails the run."""

import queue
import threading
from collections.abc import Iterator, Mapping
from itertools import islice
from urllib.parse import unquote

import httpx

from clerkship.kit.http_client import open_blocking_client
from clerkship.kit.text import describe_error
from clerkship.model.errors import InputError
from clerkship.traces.otlp import PROTOBUF, BadRequest, parse_rejection
from clerkship.traces.span_encoding import render_request
from clerkship.traces.trial_trace import OwnSpan, TracedTrial, build_trace

MAX_WAITING_TRIALS = 500
"""Finished trials whose traces wait to be sent; those of further ones are not sent."""
MAX_SPANS_IN_REQUEST = 512
SEND_SECONDS = 5.0
"""Wall seconds to wait for the collector."""
CLOSE_SECONDS = 5.0
"""Wall seconds that the end of a run waits for the last traces."""
RETRY_SECONDS = (0.2, 1.0)
"""Wall seconds before each repetition of a request that may be repeated; none at the end of a run."""
_RETRIED = (429, 502, 503, 504)
"""Statuses after which OTLP asks for a repetition."""
MAX_RESPONSE_BYTES = 65_536
MAX_REASON = 300
"""Characters of the reason for which a collector refuses spans."""


class NotSent(Exception):
    """The collector did not take a request. `is_final` if a repetition cannot help."""

    def __init__(self, reason: str, *, is_final: bool) -> None:
        super().__init__(reason)
        self.is_final = is_final


def parse_otlp_headers(text: str) -> dict[str, str]:
    """Return the headers for a collector from `name=value,name=value`, percent-encoded as OpenTelemetry has them.

    Raise InputError without a value in it: values are secrets.
    """
    headers: dict[str, str] = {}
    for number, pair in enumerate(filter(None, map(str.strip, text.split(","))), 1):
        name, mark, value = pair.partition("=")
        if not mark or not name.strip().replace("-", "").isalnum():
            raise InputError.of(
                f"CLERKSHIP_OTLP_HEADERS: header {number} has no name", hint="write name=value,name=value"
            )
        headers[name.strip().lower()] = unquote(value.strip())
    return headers


class TraceExporter:
    """Sends the traces of finished trials. After a failure it sends no more, and the run has one warning."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        base = url.rstrip("/")
        self.url = base if base.endswith("/v1/traces") else f"{base}/v1/traces"
        self._headers = {**headers, "content-type": PROTOBUF}
        self._trials: queue.Queue[TracedTrial | None] = queue.Queue(MAX_WAITING_TRIALS)
        self._is_closing = threading.Event()
        self._lock = threading.Lock()
        self._unsent = 0
        self._problem = ""
        self._has_failed = self._has_ended = False
        self._thread = threading.Thread(target=self._run, name="clerkship-traces", daemon=True)
        self._thread.start()

    def add(self, trial: TracedTrial) -> None:
        """Queue the trace of a finished trial; this never waits."""
        try:
            self._trials.put_nowait(trial)
        except queue.Full:
            self._note(1, "the collector is slower than the run")

    def close(self) -> str:
        """Send what waits, within a limit; return the warning about what was not sent, or nothing."""
        self._is_closing.set()
        if not self._trials.full():
            self._trials.put(None)  # wakes the thread up; nothing else is added any more
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            self._note(max(1, self._trials.qsize()), f"it did not answer within {CLOSE_SECONDS:g} s")
        elif not self._has_ended:
            self._note(1 + self._trials.qsize(), "the thread that sends them failed")
        if not self._problem:
            return ""
        count = "one trial" if self._unsent == 1 else f"{self._unsent:,} trials"
        return f"the traces of {count} were not sent completely to {self.url}: {self._problem}"

    def _run(self) -> None:
        with open_blocking_client(self.url, SEND_SECONDS) as client:
            while not (self._is_closing.is_set() and self._trials.empty()):
                self._send_trials(client, list(self._take_trials()))
        self._has_ended = True

    def _take_trials(self) -> Iterator[TracedTrial]:
        """Wait for a trial, and yield it and those that wait behind it, as long as they fit a request or two."""
        trial = self._trials.get()
        for _ in range(MAX_SPANS_IN_REQUEST // 8):
            if trial is not None:
                yield trial
            if self._trials.empty():
                return
            trial = self._trials.get()
        if trial is not None:
            yield trial

    def _send_trials(self, client: httpx.Client, trials: list[TracedTrial]) -> None:
        if self._has_failed:
            self._note(len(trials), self._problem)
            return
        try:
            spans = (span for trial in trials for span in build_trace(trial))
            while part := list(islice(spans, MAX_SPANS_IN_REQUEST)):
                self._send(client, part)
        except NotSent as error:
            self._has_failed = True
            self._note(len(trials), str(error))

    def _send(self, client: httpx.Client, spans: list[OwnSpan]) -> None:
        """Send a request; repeat it where OTLP asks for that. Raise NotSent."""
        body = render_request(spans)
        for pause in (*RETRY_SECONDS, 0.0):
            try:
                rejected, reason = self._post(client, body)
                break
            except NotSent as error:
                if error.is_final or not pause:
                    raise
                self._is_closing.wait(pause)
        if rejected:
            self._note(1, f"it rejected {rejected:,} spans: {reason[:MAX_REASON]}")

    def _post(self, client: httpx.Client, body: bytes) -> tuple[int, str]:
        """Post a request; return how many spans the collector rejected, and why. Raise NotSent."""
        data = bytearray()
        try:
            with client.stream("POST", self.url, content=body, headers=self._headers) as response:
                for chunk in response.iter_bytes(MAX_RESPONSE_BYTES):
                    data += chunk
                    if len(data) > MAX_RESPONSE_BYTES:
                        break
        except (httpx.HTTPError, OSError) as error:
            raise NotSent(describe_error(error)[:MAX_REASON], is_final=False) from None
        if not response.is_success:
            is_final = response.status_code not in _RETRIED
            raise NotSent(f"it answered with status {response.status_code}", is_final=is_final)
        try:
            return parse_rejection(bytes(data)) if response.headers.get("content-type") == PROTOBUF else (0, "")
        except BadRequest:
            raise NotSent("its answer is not that of a collector", is_final=True) from None

    def _note(self, trials: int, problem: str) -> None:
        with self._lock:
            self._unsent += trials
            self._problem = self._problem or problem
