"""Playgrounds with one simulator or domain, used by the checks."""

import http.client
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

import orjson

from clerkship.actors.person_scripted import ScriptedPerson
from clerkship.events.event import Event, Payload, parse_event
from clerkship.events.lifecycle import LIFECYCLE_EVENTS
from clerkship.model.environment import Environment, Simulator
from clerkship.model.scenario import ScenarioPerson
from clerkship.playground.component import PreparedComponent
from clerkship.playground.gateway import Gateway
from clerkship.playground.handlers import RequestContext
from clerkship.playground.http import open_http
from clerkship.playground.playground import Playground, PlaygroundOptions, SavedLog, replay
from clerkship.playground.request_record import ISSUED_CREDENTIAL, title_of
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.authentication.scheme import select_http_schemes
from clerkship.sandbox.operation import OperationCall, ProtocolCall
from clerkship.sandbox.request import JSON, NO_REPLY, Reply, Request
from clerkship.sandbox.route import HttpCall
from clerkship.simulators.spec import Spec

WRITES = frozenset(("POST", "PUT", "PATCH", "DELETE"))
"""The methods of requests that may change something."""
_PUBLIC_KEY_FIELD = re.compile(r'("(?:kid|x|y)": ?)"[\w-]{43,64}"')
"""The random fields of a public key for ES384 as a JWK: thumbprint and coordinates, in base64."""
PreparedDomains = Mapping[str, PreparedComponent]
ExerciseRequest = Request | OperationCall[Any, Any]
"""A request of an exercise: over HTTP, or a call in another protocol."""


class NotConforming(AssertionError):
    """Raised when a simulator or domain fails a check."""


def require(condition: bool, message: str) -> None:
    """Raise NotConforming if a condition does not hold."""
    if not condition:
        raise NotConforming(message)


@dataclass
class RequestCounts:
    """How many requests were sent and refused, and how many of them were writes."""

    sent: int = 0
    refused: int = 0
    writes: int = 0
    refused_writes: int = 0

    def add(self, request: ExerciseRequest, reply: Reply) -> None:
        is_write = isinstance(request, Request) and request.method in WRITES
        self.sent += 1
        self.refused += not reply.ok
        self.writes += is_write
        self.refused_writes += is_write and not reply.ok

    def __add__(self, other: "RequestCounts") -> "RequestCounts":
        return RequestCounts(
            self.sent + other.sent,
            self.refused + other.refused,
            self.writes + other.writes,
            self.refused_writes + other.refused_writes,
        )

    def __str__(self) -> str:
        return f"{self.sent} request{'s' * (self.sent != 1)} sent, {self.refused} refused"


class ComponentRig:
    """A playground of prepared components, and access to the bytes of its log."""

    def __init__(
        self,
        environment: Environment,
        seed: str,
        prepared_simulators: Mapping[str, PreparedSimulator],
        domains: PreparedDomains,
    ) -> None:
        self.prepared_simulators, self.domains = prepared_simulators, domains
        self.playground = Playground(environment, prepared_simulators, seed, PlaygroundOptions(domains=domains))
        self._compared = (*list(prepared_simulators)[:1], *domains)

    @property
    def lines(self) -> list[bytes]:
        """The lines of the log."""
        return self.playground.log.lines

    def declared_events(self) -> list[type[Payload]]:
        prepared = [*self.prepared_simulators.values(), *self.domains.values()]
        return [event for component in prepared for event in component.spec.events]

    def dumped(self) -> bytes:
        """Return the states of the first sandbox and the domains as bytes. The order of keys matters."""
        components = self.playground.components
        return to_bytes({name: components[name].state.dump() for name in self._compared})

    def rebuilt(self) -> bytes:
        """Return the same bytes for states that are rebuilt from the datasets and the bytes of the log."""
        states = replay({**self.prepared_simulators, **self.domains}, self.logged_events())
        return to_bytes({name: states[name].dump() for name in self._compared})

    def logged_events(self) -> list[Event]:
        """Parse the events from the bytes of the log."""
        log = self.playground.log
        kinds = {event.kind: event for event in (*LIFECYCLE_EVENTS, *self.declared_events())}
        return [parse_event(line, kinds, log.blobs.__getitem__) for line in log.lines]

    def continue_from(self, original: "ComponentRig") -> None:
        """Continue from the bytes of the log of another playground."""
        fork, other = self.playground, original.playground
        fork.rewind(SavedLog(original.logged_events(), other.log.lines, other.log.blobs))
        fork.advance(other.now - fork.now)
        fork.ids.restore(other.ids.mark())
        fork.rng = deepcopy(other.rng)

    def check_events(self) -> None:
        """Check that each line of the log can be parsed to an equal event, of a declared kind."""
        kinds = {event.kind for event in (*LIFECYCLE_EVENTS, *self.declared_events())}
        events = self.playground.log.events
        for event in events:
            require(event.kind in kinds, f"it emits {event.kind}, which its spec does not declare")
        for event, parsed in zip(events, self.logged_events(), strict=True):
            require(parsed == event, f"#{event.seq} {event.kind} does not round trip through its bytes")


class SimulatorRig(ComponentRig):
    """A playground with one sandbox, or several of the same kind, empty unless a prepared simulator is given.

    If the simulator carries a conversation, a scripted person gives every message the same answer.
    """

    def __init__(
        self,
        spec: Spec,
        seed: str = "conformance",
        prepared: PreparedSimulator | None = None,
        counts: RequestCounts | None = None,
        others: Sequence[str] = (),
        domains: PreparedDomains | None = None,
    ) -> None:
        self.name = "box"
        self.counts = counts if counts is not None else RequestCounts()
        prepared = prepared or PreparedSimulator(spec, spec.config(), spec.prepare(()))
        prepared_simulators = dict.fromkeys((self.name, *others), prepared)
        simulators = {name: Simulator(kind=spec.kind) for name in prepared_simulators}
        environment = Environment(name="conformance", simulators=simulators)
        super().__init__(environment, seed, prepared_simulators, prepare_domains(spec) if domains is None else domains)
        if spec.converses:
            self.playground.people.add_person(_build_person(), self.name)
            self.playground.people.listening = True
        self.gateway = Gateway()
        self.gateway.add_playground(self.playground)
        self._listener = open_http(self.gateway)
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._connection is not None:
            self._connection.close()
        self._listener.close()

    @property
    def token(self) -> str:
        """The token of the sandbox."""
        return self.playground.sandboxes[self.name].token

    @property
    def exercise(self) -> Sequence[ExerciseRequest]:
        """The requests of the simulator's exercise."""
        return self.prepared_simulators[self.name].spec.exercise

    def url(self) -> str:
        """Return the URL of the sandbox."""
        return f"{self._listener.url()}/{self.playground.id}/{self.name}"

    def dump(self) -> Any:
        """Return the state of the sandbox as plain data."""
        return self.playground.sandboxes[self.name].state.dump()

    def fork(self) -> "SimulatorRig":
        """Open another playground that continues from the bytes of this one's log."""
        playground, spec = self.playground, self.prepared_simulators[self.name].spec
        other = SimulatorRig(
            spec, playground.seed, self.prepared_simulators[self.name], self.counts, domains=self.domains
        )
        other.continue_from(self)
        if spec.converses:
            other.playground.people.restore_person(_build_person(), self.name)
            other.playground.people.listening = True
        return other

    def own_events(self, start: int = 0) -> list[Event]:
        """Return the events that the simulator and its domains declare, after the first ones of the log."""
        own = {event.kind for event in self.declared_events()}
        return [event for event in self.playground.log.events[start:] if event.kind in own]

    def has_effects(self, start: int) -> bool:
        """Say whether one of these events changed something. A refusal may be logged by an event without effect."""
        return any(event.payload.effect != "none" for event in self.own_events(start))

    def send(self, request: ExerciseRequest, token: str | None = None, base: str = "http://box.invalid") -> Reply:
        """Send a request, or a call in another protocol, through the gateway in process."""
        reply = self.call(HttpCall(request, base) if isinstance(request, Request) else request, token)
        self.counts.add(request, reply)
        reply = reply if reply.stream is None else reply.join_stream()
        return replace(reply, body=_remove_issued_credentials(reply.body))

    def call(self, call: ProtocolCall, token: str | None = None) -> Reply:
        """Send a call through the gateway, without counting it."""
        credential = self.token if token is None else token
        return self.gateway.handle(RequestContext(self.playground.id, self.name, call, credential))

    def send_outside(self, request: ExerciseRequest) -> Reply:
        """Send a request to the HTTP server. A call in another protocol goes through the gateway."""
        return self.send_http(request) if isinstance(request, Request) else self.send(request)

    def locate(self) -> str:
        """Return the address of the sandbox in protocols other than HTTP."""
        return self.gateway.assign_address(self.playground, self.playground.sandboxes[self.name])

    def authorize(self, request: Request) -> Mapping[str, str]:
        """Return the headers that authenticate a request, by the first scheme of the simulator."""
        sandbox = self.playground.sandboxes[self.name]
        [scheme, *_] = select_http_schemes(sandbox.spec.authentication)
        return scheme.authorize(request, sandbox.credentials, self.playground.clock)

    def send_http(self, request: Request, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a request to the HTTP server with a client of the standard library.

        Without `headers`, the request has the credential of the simulator's first scheme.
        """
        reply = self._send_http(request, self.authorize(request) if headers is None else headers)
        self.counts.add(request, reply)
        return reply

    def _send_http(self, request: Request, headers: Mapping[str, str]) -> Reply:
        if self._connection is None:
            address = urlsplit(self._listener.url())
            self._connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
        connection = self._connection
        try:
            path = f"{urlsplit(self.url()).path}{quote(request.path)}"
            target = f"{path}?{urlencode(request.pairs)}" if request.query else path
            connection.request(request.method, target, request.body, {**request.headers, **headers})
            answer = connection.getresponse()
            media = answer.headers.get("content-type", JSON)
            return Reply(answer.status, _remove_issued_credentials(answer.read()), media, dict(answer.headers.items()))
        except http.client.IncompleteRead as cut:
            connection.close()  # the next request opens it again
            return Reply(answer.status, _remove_issued_credentials(cut.partial))
        except http.client.RemoteDisconnected:  # which closes it too
            return NO_REPLY


def describe_request(request: ExerciseRequest) -> str:
    """Return the name of a request of an exercise for an error message."""
    return title_of(HttpCall(request) if isinstance(request, Request) else request)


def _build_person() -> ScriptedPerson:
    return ScriptedPerson(ScenarioPerson(fallback="I see."))


def to_bytes(data: Any) -> bytes:
    """Return data as JSON, to compare it completely. The order of keys matters."""
    return orjson.dumps(data, default=_to_plain_data, option=orjson.OPT_NON_STR_KEYS)


def _to_plain_data(value: Any) -> Any:
    """Convert a value that orjson cannot serialize."""
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return list(value)
    slots = {name: getattr(value, name, None) for name in getattr(value, "__slots__", ())}
    return [type(value).__name__, getattr(value, "__dict__", slots or repr(value))]


def prepare_domains(spec: Spec) -> dict[str, PreparedComponent]:
    """Prepare the domains that a simulator calls from their exercise datasets, by the last word of their kind."""
    return {
        domain.kind.rpartition(".")[2]: PreparedComponent(
            domain, domain.config(), domain.prepare(domain.exercise_datasets)
        )
        for domain in spec.domains
    }


def _remove_issued_credentials(body: bytes) -> bytes:
    """Remove session ids, access tokens and public keys, which are different in every run."""
    text = _PUBLIC_KEY_FIELD.sub(r'\1"[public key]"', body.decode(errors="surrogateescape"))
    return ISSUED_CREDENTIAL.sub("[issued credential]", text).encode(errors="surrogateescape")


def run_exercise(rig: SimulatorRig) -> list[Reply]:
    """Send every request of the simulator's exercise, in order."""
    return [rig.send(request) for request in rig.exercise]


def build_garbage(spec: Spec) -> list[Request]:
    """Build invalid requests: each path of the exercise with bad bodies, queries and methods, and malformed paths."""
    bodies = (b"", b"{", b"null", b"[]", b'{"unknown": 1}', b'{"text": 5}', bytes(range(256)), b"[" * 10_000)
    queries: tuple[dict[str, str], ...] = ({}, {"after": "-1", "prefix": "../x", "_count": "x"}, {"after": "9" * 400})
    paths = {request.path for request in spec.exercise if isinstance(request, Request)}
    malformed_paths = {
        "/",
        "/../../etc/passwd",
        "/files/../x",
        "/files/a//b",
        "/files/" + "a" * 5000,
        "/\u202e",
        "/files/a\nb",
    }
    methods = ("GET", "POST", "PUT", "DELETE", "PATCH", "BREW")
    requests = [
        Request(method, path, body=body) for method in methods[1:3] for path in sorted(paths) for body in bodies
    ]
    requests += [Request("GET", path, query) for path in sorted(paths) for query in queries]
    return requests + [Request(method, path) for method in methods for path in sorted(malformed_paths)]
