"""Each table of the telephone names all events that it applies: an event that it does not name never reaches it."""

import inspect
import re

import pytest

from clerkship.simulators.voice.hooks.contract import CaseTable
from clerkship.simulators.voice.lines import LineTable
from clerkship.simulators.voice.mailboxes import Mailboxes
from clerkship.simulators.voice.tables import PeopleByPhone, WebhookRecord


@pytest.mark.parametrize("table", [CaseTable, LineTable, Mailboxes, PeopleByPhone, WebhookRecord])
def test_table_names_all_events_that_it_matches(table: type) -> None:
    source = inspect.getsource(table.apply)  # type: ignore[attr-defined]
    matched = {name for line in source.splitlines() if "case " in line for name in re.findall(r"\b([A-Z]\w+)\(", line)}
    matched |= set(re.findall(r"isinstance\([\w.]+, (\w+)\)", source))
    assert matched == {kind.__name__ for kind in table.applied_events}  # type: ignore[attr-defined]
