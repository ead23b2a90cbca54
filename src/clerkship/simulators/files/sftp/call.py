"""Calls of operations over SFTP."""

from typing import Any, ClassVar, TypeVar

import orjson

from clerkship.sandbox.operation import OK, Operation, OperationCall, OperationContext
from clerkship.sandbox.request import Refusal, Reply

InputT = TypeVar("InputT")
ResultT = TypeVar("ResultT")


class SftpCall(OperationCall[InputT, ResultT]):
    """A call of an operation over SFTP. The path is what the log says it is about."""

    transport: ClassVar[str] = "sftp"

    def __init__(
        self, operation: Operation[InputT, ResultT], input: InputT, path: str, body: bytes = b"", uploading: str = ""
    ) -> None:
        super().__init__(operation, input, f"/{path}", body)
        self._uploading = uploading
        """The file that is being uploaded and must not be moved, removed or replaced; empty if there is none."""

    def parse(self, context: OperationContext[Any]) -> InputT:
        """Return the input. Refuse it here if an upload is in the way, so that the refusal is logged."""
        if self._uploading:
            raise Refusal(409, "being_uploaded", f"{self._uploading} is being uploaded")
        return super().parse(context)

    def render(self, context: OperationContext[Any], result: ResultT) -> Reply:
        """Reply with the result; a result that is not bytes is rendered as JSON, so that faults can truncate it."""
        body = result if isinstance(result, bytes) else b"" if result is None else orjson.dumps(result, default=list)
        return Reply(OK, body, result=result)
