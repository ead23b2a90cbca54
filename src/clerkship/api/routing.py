"""How every route handles a request: check the key, read the body within limits, answer a repeated request again."""

import asyncio
from collections.abc import Awaitable, Callable, Collection

import orjson
from fastapi import APIRouter, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from clerkship.api.authorization import ACCESS, authorize, read_secret
from clerkship.api.problems import HttpRefusal
from clerkship.kit.depth import MAX_DEPTH, is_deeper_than
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.names import did_you_mean
from clerkship.sandbox.request import MAX_BODY
from clerkship.service.serving.idempotency import GivenAnswer, IdempotentRequest
from clerkship.service.serving.server import Server

MAX_BODY_BYTES = 2_000_000
"""Bytes of a JSON body. Archives and folders arrive as files, with limits of their own."""
BODY_LIMITS = {"/v1/task-runs/{task_run_id}/sandbox-requests": MAX_BODY * 4 // 3 + 100_000}
"""The limits of routes whose bodies have files in base64."""
MAX_BODY_SECONDS = 30.0
"""Until a JSON body has arrived: a slow client must not keep a connection."""
MAX_CHUNK_SECONDS = 30.0
"""Between two parts of a file that arrives."""
MAX_PROBLEMS = 20
MAX_IDEMPOTENCY_KEY = 255
"""Characters, as in the IETF draft."""
Handle = Callable[[Request], Awaitable[Response]]


class GuardedRoute(APIRoute):
    """A route that only those can call whom the table of access names."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Return the handler. Raise KeyError if the table does not have the route."""
        handle = super().get_route_handler()
        method = min(self.methods or ())
        access = ACCESS[f"{method} {self.path}"]
        fields = get_flat_params(self.dependant)
        parameters = {field.alias for field in fields if isinstance(field.field_info, params.Query)}
        limit = BODY_LIMITS.get(self.path, MAX_BODY_BYTES)

        async def guard(request: Request) -> Response:
            server: Server = request.app.state.server
            principal = authorize(request, server.keys, access)
            request.state.principal = principal
            request.scope["principal"] = principal
            _check_parameters(request, parameters)
            body = await _read_json(request, limit) if self.body_field is not None else b""
            if method == "POST" and (key := request.headers.get("idempotency-key")) is not None:
                return await _answer_once(server, request, key, body, handle)
            return await handle(request)

        return guard


def build_router(tag: str, prefix: str = "/v1") -> APIRouter:
    """Return a router for the routes of one resource."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=GuardedRoute)


def _check_parameters(request: Request, known: Collection[str]) -> None:
    """Raise InputError for query parameters that the route does not have: a misspelled filter must not be ignored."""
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        raise InputError(
            InputProblem(key=name[:60], message="unknown parameter", hint=did_you_mean(name[:60], known))
            for name in unknown[:MAX_PROBLEMS]
        )


async def _read_json(request: Request, limit: int) -> bytes:
    """Read the body as JSON for the route. Raise HttpRefusal if it is too large, slow, deep or no JSON."""
    if _get_length(request) > limit:
        raise HttpRefusal(413, f"the body has more than {limit:,} bytes")
    data = bytearray()
    try:
        async with asyncio.timeout(MAX_BODY_SECONDS):
            async for chunk in request.stream():
                data += chunk
                if len(data) > limit:
                    raise HttpRefusal(413, f"the body has more than {limit:,} bytes")
    except TimeoutError:
        raise HttpRefusal(408, f"the body did not arrive within {MAX_BODY_SECONDS:g} seconds") from None
    request._body = bytes(data)
    if not data:
        return b""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type not in ("application/json", "application/merge-patch+json"):
        raise HttpRefusal(415, f"the body is {content_type or 'of no type'}; send it as application/json")
    try:
        request._json = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise HttpRefusal(400, f"the body is not JSON: {error}") from None
    if is_deeper_than(request._json):
        raise HttpRefusal(400, f"the body is nested deeper than {MAX_DEPTH} levels")
    return request._body


async def receive_file(request: Request, limit: int, write: Callable[[bytes], object]) -> None:
    """Pass a file that is sent as the body to a function, part by part. Raise HttpRefusal if it is large or slow."""
    size, message = 0, f"the file has more than {limit:,} bytes"
    if _get_length(request) > limit:
        raise HttpRefusal(413, message)
    chunks = aiter(request.stream())
    while True:
        try:
            async with asyncio.timeout(MAX_CHUNK_SECONDS):
                chunk = await anext(chunks, b"")
        except TimeoutError:
            raise HttpRefusal(408, f"no part of the file arrived for {MAX_CHUNK_SECONDS:g} seconds") from None
        if not chunk:
            return
        size += len(chunk)
        if size > limit:
            raise HttpRefusal(413, message)
        await run_in_threadpool(write, chunk)


def _get_length(request: Request) -> int:
    length = request.headers.get("content-length", "")
    return int(length[:20]) if length.isdecimal() else 0


async def _answer_once(server: Server, request: Request, key: str, body: bytes, handle: Handle) -> Response:
    """Carry a request out, or answer it as before if it is sent again with the same idempotency key."""
    if not (0 < len(key) <= MAX_IDEMPOTENCY_KEY and key.isprintable()):
        raise HttpRefusal(400, f"an Idempotency-Key has 1 to {MAX_IDEMPOTENCY_KEY} printable characters")
    content = b"\n".join((f"{request.method} {request.url.path}?{request.url.query}".encode(), body))
    owner = request.state.principal.key_id
    once = IdempotentRequest(owner, read_secret(request), key, content)
    with server.idempotency.carry_out(once) as earlier:
        if earlier is not None:
            headers = {**earlier.headers, "idempotency-replayed": "true"}
            return Response(earlier.body, earlier.status, headers)
        response = await handle(request)
        if 200 <= response.status_code < 300:
            kept = {name: value for name, value in response.headers.items() if name != "content-length"}
            answer = GivenAnswer(response.status_code, kept, bytes(response.body))
            await run_in_threadpool(server.idempotency.save, once, answer)
        return response
