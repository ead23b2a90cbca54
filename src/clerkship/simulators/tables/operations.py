"""The operations of tables: those that every sandbox has, and one for each function of its dataset."""

from collections.abc import Callable
from typing import Any

from clerkship.sandbox.operation import NoInput, Operation, OperationContext, operation
from clerkship.sandbox.request import Reply
from clerkship.simulators.tables.events import FunctionsListed
from clerkship.simulators.tables.functions import TableFunction
from clerkship.simulators.tables.state import TablesState

Context = OperationContext[TablesState]


@operation(tool=False)
def list_functions(context: Context, _: NoInput) -> dict[str, Any]:
    """List the functions: name, description, and the JSON Schema of the arguments."""
    functions = context.state.tables.agent_functions
    context.action.emit(FunctionsListed(count=len(functions)))
    return {
        "functions": [
            {"name": each.name, "description": each.description, "parameters": each.schema} for each in functions
        ]
    }


@operation()
def read_policy(context: Context, _: NoInput) -> str:
    """Read the policy: the rules for what may be done."""
    return context.state.read_policy(context.action)


def build_operation(function: TableFunction) -> Operation[Any, Any]:
    """Return the operation that calls a function."""
    run = _build_call(function)
    run.__doc__ = function.description
    return Operation(run, name=function.name, schema=function.schema)


def _build_call(function: TableFunction) -> Callable[[Context, dict[str, Any]], Reply]:
    def call(context: Context, arguments: dict[str, Any]) -> Reply:
        return Reply(200, context.state.call(context.action, function.name, arguments, context.events_left))

    return call


OPERATIONS = (list_functions, read_policy)
