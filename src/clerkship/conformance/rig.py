"""One simulator alone in a playground, with both doors open, for checking it."""

import http.client
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

from clerkship.actors.person_scripted import ScriptedPerson
from clerkship.events.event import Event
from clerkship.model.environment import Environment, Simulator
from clerkship.model.scenario import Person
from clerkship.playground.gateway import Gateway, RequestContext
from clerkship.playground.http import open_http
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.exchange import JSON, NO_REPLY, Reply, Request
from clerkship.sandbox.operation import ProtocolCall
from clerkship.sandbox.route import HttpCall
from clerkship.simulators.spec import Spec


class Rig:
    """A playground with one sandbox. A person who says little sits on it, where one can."""

    def __init__(self, spec: Spec, seed: str = "conformance") -> None:
        self.name = "box"
        self.rooms = {self.name: PreparedSimulator(spec, spec.config(), spec.prepare(()))}
        environment = Environment(name="conformance", simulators={self.name: Simulator(kind=spec.kind)})
        self.playground = Playground(environment, self.rooms, seed)
        if spec.converses:
            self.playground.seat(ScriptedPerson(Person(fallback="I see.")), self.name)
            self.playground.listen()
        self._gateway = Gateway()
        self._gateway.admit(self.playground)
        self._listener = open_http(self._gateway)

    def __enter__(self) -> Self:
        """Ready as it is."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close both doors."""
        self._listener.close()

    @property
    def lines(self) -> list[bytes]:
        """The log's bytes."""
        return self.playground.log.lines

    @property
    def token(self) -> str:
        """The sandbox's credential."""
        return self.playground.sandboxes[self.name].token

    def url(self) -> str:
        """Where the sandbox is over HTTP."""
        return f"{self._listener.url()}/{self.playground.id}/{self.name}"

    def dump(self) -> Any:
        """The state as plain data."""
        return self.playground.sandboxes[self.name].state.dump()

    def own_events(self) -> list[Event]:
        """Events of the simulator's own kinds."""
        own = {event.kind for event in self.rooms[self.name].spec.events}
        return [event for event in self.playground.log.events if event.kind in own]

    def send(self, request: Request, token: str | None = None, base: str = "http://box.invalid") -> Reply:
        """Through the in-process door."""
        given = self.token if token is None else token
        context = RequestContext(self.playground.id, self.name, HttpCall(request, base), given)
        reply = self._gateway.handle(context)
        return reply if reply.stream is None else reply.joined()

    def call(self, call: ProtocolCall) -> Reply:
        """Send a call in a protocol other than HTTP."""
        return self._gateway.handle(RequestContext(self.playground.id, self.name, call, self.token))

    def send_http(self, request: Request, token: str | None = None) -> Reply:
        """Through the HTTP door, by a client that is not ours."""
        address = urlsplit(self.url())
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
        try:
            path = f"{address.path}{quote(request.path)}"
            target = f"{path}?{urlencode(request.pairs)}" if request.query else path
            given = self.token if token is None else token
            headers = {**request.headers, "Authorization": f"Bearer {given}"}
            connection.request(request.method, target, request.body, headers)
            answer = connection.getresponse()
            media = answer.headers.get("content-type", JSON)
            return Reply(answer.status, answer.read(), media, dict(answer.headers.items()))
        except http.client.IncompleteRead as cut:
            return Reply(answer.status, cut.partial)
        except http.client.RemoteDisconnected:
            return NO_REPLY
        finally:
            connection.close()


def exercise(rig: Rig) -> list[Reply]:
    """Every request of the simulator's exercise, in order."""
    return [rig.send(request) for request in rig.rooms[rig.name].spec.exercise]


def garbage(spec: Spec) -> list[Request]:
    """Each of the simulator's paths with bodies, queries and methods it cannot want; and paths that are traps."""
    bodies = (b"", b"{", b"null", b"[]", b'{"unknown": 1}', b'{"text": 5}', bytes(range(256)), b"[" * 10_000)
    queries: tuple[dict[str, str], ...] = ({}, {"after": "-1", "prefix": "../x", "_count": "x"}, {"after": "9" * 400})
    paths = {request.path for request in spec.exercise}
    traps = {"/", "/../../etc/passwd", "/files/../x", "/files/a//b", "/files/" + "a" * 5000, "/\u202e", "/files/a\nb"}
    methods = ("GET", "POST", "PUT", "DELETE", "PATCH", "BREW")
    tried = [Request(method, path, body=body) for method in methods[1:3] for path in sorted(paths) for body in bodies]
    tried += [Request("GET", path, query) for path in sorted(paths) for query in queries]
    return tried + [Request(method, path) for method in methods for path in sorted(traps)]
