"""The steps of tables: put and delete records, and call functions."""

from typing import Annotated, ClassVar

from pydantic import Field, JsonValue

from clerkship.model.frozen import Flag
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.tables.config import FUNCTION, TABLE
from clerkship.simulators.tables.state import TablesState

SandboxName = Annotated[str | None, Field(description="which tables; the only ones if not given")]


class PutRecord(Step):
    """Create or replace a record; with `merge`, change only the given fields of a record that exists."""

    name: ClassVar[str] = "tables.put"
    simulator: ClassVar[str | None] = "tables"
    table: Annotated[str, TABLE, Field(description="which table")]
    id: Annotated[str, Field(min_length=1, max_length=500, description="the id of the record")]
    record: Annotated[dict[str, JsonValue], Field(description="its fields")]
    merge: Annotated[Flag, Field(description="whether its other fields stay as they are")] = False
    sandbox: SandboxName = None

    def run(self, host: StepHost) -> None:
        state, action = host.state(TablesState, self.sandbox)
        state.put(action, self.table, self.id, self.record, merge=self.merge)


class DeleteRecord(Step):
    """Delete a record."""

    name: ClassVar[str] = "tables.delete"
    simulator: ClassVar[str | None] = "tables"
    table: Annotated[str, TABLE, Field(description="which table")]
    id: Annotated[str, Field(min_length=1, description="the id of the record")]
    sandbox: SandboxName = None

    def run(self, host: StepHost) -> None:
        state, action = host.state(TablesState, self.sandbox)
        state.delete(action, self.table, self.id)


class CallFunction(Step):
    """Call a function, as a colleague of the agent would."""

    name: ClassVar[str] = "tables.call"
    simulator: ClassVar[str | None] = "tables"
    function: Annotated[str, FUNCTION, Field(description="which function")]
    arguments: Annotated[dict[str, JsonValue], Field(description="its arguments, by name")] = {}
    sandbox: SandboxName = None

    def run(self, host: StepHost) -> None:
        state, action = host.state(TablesState, self.sandbox)
        state.call_checked(action, self.function, self.arguments)
