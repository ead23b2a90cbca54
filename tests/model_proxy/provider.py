"""A provider of models for tests: it answers with what a test prescribes, in the forms of all providers."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

KEY = "sk-provider-key-of-the-test"
MODEL = "gpt-4o-2024-08-06"
PIECE = 4
"""Characters of a text in one event of a stream."""


class Call(NamedTuple):
    """An answer that calls a tool."""

    name: str
    arguments: dict[str, Any]


class Raw(NamedTuple):
    """An answer as bytes: an error, or something that no provider should send."""

    status: int
    body: bytes
    media: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    promised: int | None = None
    """The declared length; the connection breaks after the body."""
    stall: float = 0.0
    """Seconds to wait after the body."""
    delay: float = 0.0
    """Seconds to wait before anything is sent."""


Prescribed = str | Call | Raw


@dataclass
class ReceivedCall:
    """A request that the provider has received."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.body)  # type: ignore[no-any-return]


@dataclass
class ModelProvider:
    """An HTTP server that gives the prescribed answers in turn; the last one again and again."""

    answers: list[Prescribed]
    received: list[ReceivedCall] = field(default_factory=list)
    knows_stream_options: bool = True
    repeat: Callable[[dict[str, Any]], str] | None = None
    """Returns the answer to a request; without it, the prescribed answers are given."""

    def __init__(self, *answers: Prescribed, knows_stream_options: bool = True) -> None:
        self.answers, self.received, self.knows_stream_options = list(answers), [], knows_stream_options
        self._numbers = threading.Lock()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                with suppress(BrokenPipeError, ConnectionResetError):  # the proxy left
                    provider.answer(self, ReceivedCall(self.command, self.path, headers, body))

            do_GET = do_POST  # noqa: N815  (a name of the standard library)

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler, received: ReceivedCall) -> None:
        """Answer one request."""
        with self._numbers:
            self.received.append(received)
            number = len(self.received) - 1
            answer = self.answers[min(number, len(self.answers) - 1)]
        if self.repeat is not None:
            answer = self.repeat(received.data)
        if not self.knows_stream_options and b"stream_options" in received.body:
            self.received.pop()
            answer = Raw(400, b'{"error": {"message": "unknown field stream_options"}}')
        if isinstance(answer, Raw):
            send_raw(handler, answer)
            return
        whole, events = build_answer(received, answer, number)
        if events is None:
            send_raw(handler, Raw(200, json.dumps(whole).encode(), headers=(("x-request-id", f"req_{number}"),)))
            return
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream; charset=utf-8")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for event in events:
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            handler.wfile.flush()
        handler.wfile.write(b"0\r\n\r\n")


def send_raw(handler: BaseHTTPRequestHandler, answer: Raw) -> None:
    """Send an answer as it is."""
    time.sleep(answer.delay)
    handler.send_response(answer.status)
    handler.send_header("content-type", answer.media)
    handler.send_header("content-length", str(answer.promised or len(answer.body)))
    for name, value in answer.headers:
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(answer.body)
    handler.wfile.flush()
    time.sleep(answer.stall)
    if answer.promised is not None:
        handler.close_connection = True


def build_answer(received: ReceivedCall, answer: str | Call, number: int) -> tuple[Any, Iterator[bytes] | None]:
    """Return an answer in the form of the API that was called: a body, or the events of a stream."""
    path = received.path.partition("?")[0]
    if received.method == "GET":
        return {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "us"}]}, None
    data = received.data
    if path.endswith("/embeddings"):
        vector = {"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}
        usage = {"prompt_tokens": 3, "total_tokens": 3}
        return {"object": "list", "data": [vector], "model": data["model"], "usage": usage}, None
    if path.endswith("/chat/completions"):
        return _chat(data, answer, number)
    if path.endswith("/responses"):
        return _response(data, answer, number)
    if path.endswith("/messages"):
        return _message(data, answer, number)
    return _content(path, answer, number)


def _event(data: Any, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(data)}\n\n".encode()


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def _chat(data: dict[str, Any], answer: str | Call, number: int) -> tuple[Any, Iterator[bytes] | None]:
    usage: dict[str, Any] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    usage |= {"prompt_tokens_details": {"cached_tokens": 40}}
    head = {"id": f"chatcmpl-{number}", "created": 0, "model": MODEL}
    calls: list[dict[str, Any]] = []
    if isinstance(answer, Call):
        function = {"name": answer.name, "arguments": json.dumps(answer.arguments)}
        calls = [{"id": f"call_{number}", "type": "function", "function": function}]
    reason = "tool_calls" if calls else "stop"
    if not data.get("stream"):
        content = {"content": None, "tool_calls": calls} if calls else {"content": answer}
        choice = {"index": 0, "message": {"role": "assistant", **content}, "finish_reason": reason}
        return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}, None

    def events() -> Iterator[bytes]:
        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return _event({**head, "object": "chat.completion.chunk", "choices": [choice]})

        yield chunk({"role": "assistant", "content": None if calls else ""})
        if isinstance(answer, Call):
            [call] = calls
            function = {"name": answer.name, "arguments": ""}
            yield chunk({"tool_calls": [{"index": 0, **call, "function": function}]})
            for piece in _pieces(call["function"]["arguments"]):
                yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
        else:
            for piece in _pieces(answer):
                yield chunk({"content": piece})
        yield chunk({}, reason)
        if (data.get("stream_options") or {}).get("include_usage"):
            yield _event({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"

    return None, events()


def _response(data: dict[str, Any], answer: str | Call, number: int) -> tuple[Any, Iterator[bytes] | None]:
    details = {"input_tokens_details": {"cached_tokens": 40}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110, **details}
    if isinstance(answer, Call):
        arguments = json.dumps(answer.arguments)
        item: dict[str, Any] = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
        item |= {"name": answer.name, "arguments": arguments, "status": "completed"}
    else:
        content = [{"type": "output_text", "text": answer, "annotations": []}]
        item = {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    response: dict[str, Any] = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": MODEL,
        "status": "completed",
    }
    response |= {"output": [item], "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    if not data.get("stream"):
        return response, None

    def events() -> Iterator[bytes]:
        numbers = iter(range(100))

        def event(kind: str, **fields: Any) -> bytes:
            return _event({"type": kind, "sequence_number": next(numbers), **fields}, kind)

        place = {"output_index": 0}
        begun = {**response, "status": "in_progress", "output": [], "usage": None}
        yield event("response.created", response=begun)
        empty: dict[str, Any] = {"arguments": ""} if isinstance(answer, Call) else {"content": []}
        yield event("response.output_item.added", item={**item, "status": "in_progress", **empty}, **place)
        place |= {"item_id": item["id"]}
        if isinstance(answer, Call):
            for piece in _pieces(item["arguments"]):
                yield event("response.function_call_arguments.delta", delta=piece, **place)
            done = {"arguments": item["arguments"], "name": answer.name}
            yield event("response.function_call_arguments.done", **done, **place)
        else:
            place |= {"content_index": 0}
            part = {"type": "output_text", "text": "", "annotations": []}
            yield event("response.content_part.added", part=part, **place)
            for piece in _pieces(answer):
                yield event("response.output_text.delta", delta=piece, logprobs=[], **place)
            yield event("response.output_text.done", text=answer, logprobs=[], **place)
            yield event("response.content_part.done", part={**part, "text": answer}, **place)
        yield event("response.output_item.done", item=item, output_index=0)
        yield event("response.completed", response=response)

    return None, events()


def _message(data: dict[str, Any], answer: str | Call, number: int) -> tuple[Any, Iterator[bytes] | None]:
    usage = {"input_tokens": 50, "output_tokens": 10, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10}
    if isinstance(answer, Call):
        block: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{number}", "name": answer.name}
        block |= {"input": answer.arguments}
        reason = "tool_use"
    else:
        block, reason = {"type": "text", "text": answer}, "end_turn"
    message: dict[str, Any] = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
    }
    whole = {**message, "content": [block], "stop_reason": reason, "stop_sequence": None, "usage": usage}
    if not data.get("stream"):
        return whole, None

    def events() -> Iterator[bytes]:
        def event(kind: str, **fields: Any) -> bytes:
            return _event({"type": kind, **fields}, kind)

        begun = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
        yield event("message_start", message=begun)
        yield event("ping")
        empty: dict[str, Any] = {"input": {}} if isinstance(answer, Call) else {"text": ""}
        yield event("content_block_start", index=0, content_block={**block, **empty})
        if isinstance(answer, Call):
            for piece in _pieces(json.dumps(answer.arguments)):
                delta = {"type": "input_json_delta", "partial_json": piece}
                yield event("content_block_delta", index=0, delta=delta)
        else:
            for piece in _pieces(answer):
                yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        yield event("content_block_stop", index=0)
        yield event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 10})
        yield event("message_stop")

    return None, events()


def _content(path: str, answer: str | Call, number: int) -> tuple[Any, Iterator[bytes] | None]:
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 7, "thoughtsTokenCount": 3, "totalTokenCount": 110}
    about = {"modelVersion": "gemini-2.5-flash", "responseId": f"g{number}"}

    def body(parts: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **fields}
        return {"candidates": [candidate], **about, "usageMetadata": usage}

    if path.endswith("embedContent") or path.endswith("batchEmbedContents"):
        return {"embedding": {"values": [0.5]}, "embeddings": [{"values": [0.5]}]}, None
    if path.endswith("countTokens"):
        return {"totalTokens": 3}, None
    if isinstance(answer, Call):
        parts: list[dict[str, Any]] = [{"functionCall": {"name": answer.name, "args": answer.arguments}}]
    else:
        parts = [{"text": piece} for piece in _pieces(answer)]
    if ":stream" not in path:
        joined = parts if isinstance(answer, Call) else [{"text": answer}]
        return body(joined, finishReason="STOP"), None

    def events() -> Iterator[bytes]:
        for place, part in enumerate(parts):
            last = {"finishReason": "STOP"} if place == len(parts) - 1 else {}
            yield _event(body([part], **last)).replace(b"\n\n", b"\r\n\r\n")

    return None, events()
