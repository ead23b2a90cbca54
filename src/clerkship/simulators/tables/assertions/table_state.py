"""`table_state`: a record of a table is as expected at the end."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clerkship.assertions.field_rows import MAX_NAMES
from clerkship.assertions.occurrence import join_first
from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.path import lookup
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import FieldMatch
from clerkship.simulators.tables.config import TABLE
from clerkship.simulators.tables.state import TablesState


class TableState(SelectionAssertion):
    """A record of the table has the expected values at the end; or the number of such records is as expected."""

    name: ClassVar[str] = "table_state"
    simulator: ClassVar[str | None] = "tables"
    unscoped_reason: ClassVar[str] = "records of tables are selected with `id` and `where`"
    table: Annotated[str, TABLE, Field(description="which table")]
    id: Annotated[str | None, Field(description="the id of the record; any if not given")] = None
    where: Annotated[dict[str, Expected], Field(description="which records, by path: literal or matcher")] = {}
    fields: Annotated[tuple[FieldMatch, ...], Field(description="expected values by path")] = ()
    sandbox: Annotated[str | None, Field(description="which tables; the only ones if not given")] = None

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each record that is selected."""
        state = evidence.state(TablesState, self.sandbox)
        ids = [id for id in state.ids(self.table) if self._selects(state, id)]
        return (Compared(f"{self.table}/{id}", tuple(self._compare(state.read(self.table, id)))) for id in ids)

    def _selects(self, state: TablesState, id: str) -> bool:
        if self.id is not None and id != self.id:
            return False
        record = state.read(self.table, id) if self.where else {}
        return all(matches_expected(expected, lookup(record, path)) for path, expected in self.where.items())

    def _compare(self, record: Any) -> Iterator[FieldCheck]:
        return (field.compare(record) for field in self.fields)

    def describe_selection(self, evidence: Evidence) -> str:
        conditions = [f"{path} {describe_expected(expected)}" for path, expected in self.where.items()]
        id = f" {self.id}" if self.id is not None else ""
        return f"record{id} in {self.table}{' with ' if conditions else ''}{', '.join(conditions)}"

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        """Yield which records there are, if none is selected."""
        if not compared:
            ids = list(evidence.state(TablesState, self.sandbox).ids(self.table))
            yield f"{self.table} has {join_first(ids, most=MAX_NAMES) or 'no record'}"
