"""Routes whose handlers read the request and write the response themselves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import Operation, OperationContext
from clerkship.sandbox.request import Reply, Request
from clerkship.sandbox.route import HttpCall, Route


@dataclass(frozen=True)
class RawCall:
    """A request, with the context of its operation."""

    request: Request
    params: dict[str, str]
    context: OperationContext[Any]


class RawInput(Frozen):
    """The input of an operation that reads the request itself."""

    call: Any = None


def raw_route(
    method: str, path: str, name: str, handler: Callable[[RawCall], Reply], *, tool: bool = True, **options: Any
) -> Route:
    """Return a route, and the operation that it means."""

    def run(context: OperationContext[Any], input: RawInput) -> Reply:
        return handler(input.call)

    def parse(call: HttpCall, context: OperationContext[Any]) -> RawInput:
        return RawInput(call=RawCall(call.request, dict(call.params), context))

    run.__doc__ = handler.__doc__
    operation = Operation(run, name=name, tool=tool)
    return Route(method, path, operation, parse=parse, render=lambda call, context, reply: reply, **options)
