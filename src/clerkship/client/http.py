"""The two clients: one that waits in its thread, and one that is awaited."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import httpx

from clerkship.client import calls
from clerkship.client.calls import ListCall, ServerCall
from clerkship.client.errors import parse_problem
from clerkship.client.exchange import Exchange, ReceivedEvents, build_headers
from clerkship.kit.http_client import is_loopback, parse_address
from clerkship.kit.wall import sleep
from clerkship.model.server_objects import LoggedEvent

P = ParamSpec("P")
T = TypeVar("T")
TIMEOUT = 300.0
"""Seconds within which the next part of an answer must arrive: a completion is graded before it is answered."""
CONNECT_TIMEOUT = 10.0


class CallMethod(Generic[P, T]):
    """A call as a method of both clients. It returns the answer, or an awaitable of it."""

    def __init__(self, build: Callable[P, ServerCall[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self

        def method(*args: P.args, **options: P.kwargs) -> Any:
            return client.send(self._build(*args, **options))

        method.__doc__ = self.__doc__
        return method


class ListMethod(Generic[P, T]):
    """A list as a method of both clients. It returns an iterator over all objects, which fetches part after part."""

    def __init__(self, build: Callable[P, ListCall[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self

        def method(*args: P.args, **options: P.kwargs) -> Any:
            return client.iterate(self._build(*args, **options))

        method.__doc__ = self.__doc__
        return method


class ServerCalls:
    """The calls of a server's interface, and the address and key with which they are sent."""

    start_benchmark_run = CallMethod(calls.start_benchmark_run)
    get_benchmark_run = CallMethod(calls.get_benchmark_run)
    list_benchmark_runs = ListMethod(calls.list_benchmark_runs)
    cancel_benchmark_run = CallMethod(calls.cancel_benchmark_run)
    rescore_benchmark_run = CallMethod(calls.rescore_benchmark_run)
    compare_benchmark_runs = CallMethod(calls.compare_benchmark_runs)
    get_report = CallMethod(calls.get_report)
    get_task_run = CallMethod(calls.get_task_run)
    start_task_run = CallMethod(calls.start_task_run)
    send_message = CallMethod(calls.send_message)
    complete_task_run = CallMethod(calls.complete_task_run)
    cancel_task_run = CallMethod(calls.cancel_task_run)
    send_heartbeat = CallMethod(calls.send_heartbeat)
    send_sandbox_request = CallMethod(calls.send_sandbox_request)
    list_events = ListMethod(calls.list_events)
    get_transcript = CallMethod(calls.get_transcript)
    get_artifact = CallMethod(calls.get_artifact)
    list_criterion_runs = CallMethod(calls.list_criterion_runs)
    get_criterion_run = CallMethod(calls.get_criterion_run)
    list_objects = ListMethod(calls.list_objects)
    get_object = CallMethod(calls.get_object)
    create_object = CallMethod(calls.create_object)
    update_object = CallMethod(calls.update_object)
    delete_object = CallMethod(calls.delete_object)
    download_files = CallMethod(calls.download_files)
    upload_files = CallMethod(calls.upload_files)
    publish_benchmark = CallMethod(calls.publish_benchmark)
    list_published = ListMethod(calls.list_published)
    get_published = CallMethod(calls.get_published)
    download_archive = CallMethod(calls.download_archive)
    upload_archive = CallMethod(calls.upload_archive)
    withdraw_version = CallMethod(calls.withdraw_version)
    restore_version = CallMethod(calls.restore_version)
    list_solvers = ListMethod(calls.list_solvers)
    get_solver = CallMethod(calls.get_solver)
    create_solver = CallMethod(calls.create_solver)
    create_solver_key = CallMethod(calls.create_solver_key)
    list_solver_keys = ListMethod(calls.list_solver_keys)
    list_keys = ListMethod(calls.list_keys)
    create_key = CallMethod(calls.create_key)
    revoke_key = CallMethod(calls.revoke_key)

    def __init__(self, url: str, key: str) -> None:
        self.url = parse_address(url, url, "server").rstrip("/")
        self._headers = build_headers(key)

    def _http_options(self, timeout: float) -> dict[str, Any]:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
        limit = httpx.Timeout(timeout, connect=CONNECT_TIMEOUT, pool=None)
        return {"timeout": limit, "limits": limits, "trust_env": not is_loopback(self.url)}


class Client(ServerCalls):
    """A client whose calls return when the answer is there. Threads may share it."""

    def __init__(self, url: str, key: str = "", *, timeout: float = TIMEOUT, http: httpx.Client | None = None) -> None:
        super().__init__(url, key)
        self._http = http or httpx.Client(**self._http_options(timeout))

    def with_key(self, key: str) -> "Client":
        """Return a client with another key, such as the token of a run, over the same connections."""
        return Client(self.url, key, http=self._http)

    def send(self, call: ServerCall[T]) -> T:
        """Carry out a call. Raise ServerProblem or ServerUnreachable."""
        exchange = Exchange(call, self.url, self._headers)
        while not exchange.is_over:
            sleep(exchange.pause)
            try:
                response = self._http.request(**exchange.request)
            except httpx.TransportError as error:
                exchange.lose(error)
            else:
                exchange.receive(response.status_code, response.headers, response.content)
        return exchange.result

    def iterate(self, call: ListCall[T]) -> Iterator[T]:
        """Yield the objects of a list, part after part."""
        position: Any = True
        while position is not None:
            items, position = self.send(call)
            yield from items
            call = call.at(position)

    def follow_events(
        self, task_run_id: str, *, after: int = 0, kind: str | None = None, source: str | None = None
    ) -> Iterator[LoggedEvent]:
        """Yield the events of a log as they happen, until the task run has ended."""
        stream = ReceivedEvents(self.url, task_run_id, after, kind, source)
        while not stream.is_over:
            sleep(stream.pause)
            try:
                with self._http.stream(**stream.build_request(self._headers)) as response:
                    if response.status_code != httpx.codes.OK:
                        raise parse_problem(response.status_code, response.read())
                    for line in response.iter_lines():
                        if (event := stream.read(line)) is not None:
                            yield event
            except httpx.TransportError as error:
                stream.lose(error)

    def close(self) -> None:
        """Close the connections, also those of clients with other keys."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(ServerCalls):
    """A client whose calls are awaited."""

    def __init__(
        self, url: str, key: str = "", *, timeout: float = TIMEOUT, http: httpx.AsyncClient | None = None
    ) -> None:
        super().__init__(url, key)
        self._http = http or httpx.AsyncClient(**self._http_options(timeout))

    def with_key(self, key: str) -> "AsyncClient":
        """Return a client with another key, such as the token of a run, over the same connections."""
        return AsyncClient(self.url, key, http=self._http)

    async def send(self, call: ServerCall[T]) -> T:
        """Carry out a call. Raise ServerProblem or ServerUnreachable."""
        exchange = Exchange(call, self.url, self._headers)
        while not exchange.is_over:
            await asyncio.sleep(exchange.pause)
            try:
                response = await self._http.request(**exchange.request)
            except httpx.TransportError as error:
                exchange.lose(error)
            else:
                exchange.receive(response.status_code, response.headers, response.content)
        return exchange.result

    async def iterate(self, call: ListCall[T]) -> AsyncIterator[T]:
        """Yield the objects of a list, part after part."""
        position: Any = True
        while position is not None:
            items, position = await self.send(call)
            for item in items:
                yield item
            call = call.at(position)

    async def follow_events(
        self, task_run_id: str, *, after: int = 0, kind: str | None = None, source: str | None = None
    ) -> AsyncIterator[LoggedEvent]:
        """Yield the events of a log as they happen, until the task run has ended."""
        stream = ReceivedEvents(self.url, task_run_id, after, kind, source)
        while not stream.is_over:
            await asyncio.sleep(stream.pause)
            try:
                async with self._http.stream(**stream.build_request(self._headers)) as response:
                    if response.status_code != httpx.codes.OK:
                        raise parse_problem(response.status_code, await response.aread())
                    async for line in response.aiter_lines():
                        if (event := stream.read(line)) is not None:
                            yield event
            except httpx.TransportError as error:
                stream.lose(error)

    async def close(self) -> None:
        """Close the connections, also those of clients with other keys."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
