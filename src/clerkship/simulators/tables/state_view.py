"""What is shown of tables at one moment: their records."""

from collections.abc import Iterator

from clerkship.sandbox.plain_data import to_plain
from clerkship.sandbox.state_view import StateRow, ViewedTrial
from clerkship.simulators.tables.state import TablesState
from clerkship.simulators.tables.table_set import build_key


def list_rows(state: TablesState, trial: ViewedTrial) -> Iterator[StateRow]:
    """List the records by table: those of the start as they are, and those that changed."""
    changed = state.record_changes()
    rows: dict[str, StateRow] = trial.cache.setdefault("rows", {})
    for table in state.tables.names:
        for id in state.ids(table):
            key = build_key(table, id)
            if key in changed:
                yield _build_row(table, id, state.read(table, id))
            else:
                yield rows.get(key) or rows.setdefault(key, _build_row(table, id, state.read(table, id)))


def _build_row(table: str, id: str, record: object) -> StateRow:
    return StateRow(build_key(table, id), table, id, read=lambda: to_plain(record))
