"""Calls of operations over SFTP."""

from typing import Any, ClassVar, TypeVar

import orjson

from clerkship.sandbox.exchange import Reply
from clerkship.sandbox.operation import OK, Operation, OperationCall, OperationContext

InputT = TypeVar("InputT")
ResultT = TypeVar("ResultT")


class SftpCall(OperationCall[InputT, ResultT]):
    """A call of an operation over SFTP. The path is what the log says it is about."""

    transport: ClassVar[str] = "sftp"

    def __init__(self, operation: Operation[InputT, ResultT], input: InputT, path: str, body: bytes = b"") -> None:
        super().__init__(operation, input, f"/{path}", body)

    def render(self, context: OperationContext[Any], result: ResultT) -> Reply:
        """Reply with the result; what is not bytes stands for the packet it will be, for faults that cut it."""
        body = result if isinstance(result, bytes) else b"" if result is None else orjson.dumps(result, default=list)
        return Reply(OK, body, result=result)
