"""The faxes of a run, read from its events."""

from clerkship.events.evidence import Evidence
from clerkship.events.tables import read_tables
from clerkship.simulators.fax.events import PageStored
from clerkship.simulators.fax.index import FaxIndex
from clerkship.simulators.fax.records import FaxRecord, NumberedPage

LoggedFax = FaxRecord
"""A fax that the agent sent or that arrived, with what became of it."""
LoggedPage = NumberedPage


def list_sent_faxes(evidence: Evidence, sandbox: str | None = None) -> list[LoggedFax]:
    """Return the faxes that the agent sent, in order, whatever became of them.

    Those that a reaction sends because of something that the agent did are the agent's.
    """
    return [fax for fax in evidence.cached(_read_sent) if sandbox in (None, fax.event.source)]


def list_arrived_faxes(evidence: Evidence, sandbox: str | None = None) -> list[LoggedFax]:
    """Return the faxes that arrived, in order."""
    faxes = evidence.cached(_read_faxes)
    return [fax for fax in faxes if fax.is_inbound and sandbox in (None, fax.event.source)]


def get_stored_page(evidence: Evidence, source: str, page: str) -> PageStored | None:
    """Return a page by its hash; None if the log does not have it."""
    tables = evidence.cached(_read_indexes)
    return tables[source].pages.get(page) if source in tables else None


def _read_indexes(evidence: Evidence) -> dict[str, FaxIndex]:
    return read_tables(evidence, FaxIndex)


def _read_faxes(evidence: Evidence) -> list[LoggedFax]:
    records = [record for index in evidence.cached(_read_indexes).values() for record in index.in_order]
    return sorted(records, key=lambda record: (record.event.at, record.event.seq))


def _read_sent(evidence: Evidence) -> list[LoggedFax]:
    faxes = evidence.cached(_read_faxes)
    return [fax for fax in faxes if not fax.is_inbound and evidence.find_originator(fax.event) == "agent"]
