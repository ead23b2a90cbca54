"""Calls of operations by name, without a protocol: from tools of models, and from recordings."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson
from pydantic import ValidationError

from clerkship.model.frozen import encode_model
from clerkship.model.names import did_you_mean
from clerkship.sandbox.call_record import CallRecord, decode_bytes, encode_bytes
from clerkship.sandbox.operation import OK, Operation, OperationCall, OperationContext, ProtocolCall
from clerkship.sandbox.request import Refusal, Reply, Request
from clerkship.sandbox.route import HttpCall, to_reply, validate_input


class DirectCall(OperationCall[Any, Any]):
    """A call with arguments that are validated like the body of an HTTP request. The reply is JSON."""

    transport = ""

    def __init__(self, operation: Operation[Any, Any], arguments: Mapping[str, Any]) -> None:
        super().__init__(operation, arguments, body=orjson.dumps(encode_bytes(arguments)))

    def parse(self, context: OperationContext[Any]) -> Any:
        """Return the arguments as the input of the operation; raises Refusal if they are not valid."""
        return validate_input(self.operation, self.input)

    def render(self, context: OperationContext[Any], result: Any) -> Reply:
        """Write bytes and text as they are, and everything else as JSON.

        A result that only the route of the operation can write is refused: it must not break the trial.
        """
        try:
            return replace(to_reply(OK, result), result=result)
        except orjson.JSONEncodeError:
            return replace(_render_as_json(self.operation.name, result), result=result)


def _render_as_json(name: str, result: Any) -> Reply:
    """Write a result that has tuples with names, mappings and bytes in it; raises Refusal for other objects."""
    try:
        return Reply(OK, orjson.dumps(result, default=_encode_part))
    except orjson.JSONEncodeError:
        reason = f"the result of `{name}` has no JSON form here; send the request of its route instead"
        raise Refusal(406, "no_json_form", reason) from None


def _encode_part(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, bytes):
        return encode_bytes(value)
    if isinstance(value, Mapping):
        return dict(value)
    return encode_model(value)


class RecordedCall(OperationCall[Any, Any]):
    """A recorded call of a listener, repeated with the same transport, target and body."""

    def __init__(self, operation: Operation[Any, Any], record: CallRecord) -> None:
        super().__init__(operation, decode_bytes(record.input), record.target, record.body)
        self.transport = record.transport  # type: ignore[misc]
        self._answer = record.answer

    def parse(self, context: OperationContext[Any]) -> Any:
        """Return the recorded input, including fields that only a listener sets; raises Refusal."""
        if self.operation.input is dict:
            return self.input
        try:
            return self.operation.input.model_validate(self.input)
        except ValidationError as error:
            raise Refusal(422, "invalid_input", str(error.errors()[0]["msg"])) from None

    def render(self, context: OperationContext[Any], result: Any) -> Reply:
        """Return the result with the recorded answer."""
        return replace(super().render(context, result), answer=self._answer)


def to_call(record: CallRecord, operations: Iterable[Operation[Any, Any]]) -> OperationCall[Any, Any]:
    """Return the call that a record describes; raises ValueError if there is no such operation."""
    known = {operation.name: operation for operation in operations}
    if record.operation not in known:
        raise ValueError(f"no operation `{record.operation[:80]}`; {did_you_mean(record.operation[:80], known)}")
    operation = known[record.operation]
    if record.transport:
        return RecordedCall(operation, record)
    return DirectCall(operation, decode_bytes(record.input))


def to_recordable(call: ProtocolCall, answer: str) -> Request | CallRecord:
    """Return a call in a form that can be sent again."""
    if isinstance(call, HttpCall):
        return call.request
    assert isinstance(call, OperationCall)
    arguments = call.input
    if not isinstance(arguments, Mapping):
        arguments = arguments.model_dump(mode="python", by_alias=True, exclude_defaults=True)
    is_direct = isinstance(call, DirectCall)
    body = b"" if is_direct else call.body
    return CallRecord(call.operation.name, encode_bytes(arguments), call.transport, call.target, body, answer)
