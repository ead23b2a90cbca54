"""The library of policies: search, open a version, and download it as PDF."""

from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from clerkship.payer.policies.document import PolicyDocument, build_document, write_policy_pdf
from clerkship.payer.policies.policy import (
    KIND_LABELS,
    Policy,
    PolicyVersion,
    VersionStatus,
    search_versions,
)
from clerkship.simulators.portal.desk import NOT_FOUND, Desk, DeskRefusal
from clerkship.simulators.portal.downloads import PDF, DownloadedFile
from clerkship.simulators.portal.events import Downloaded, Searched
from clerkship.simulators.portal.form_values import FormValues

STATUS_LABELS: dict[VersionStatus, str] = {"in_force": "In force", "superseded": "Superseded", "future": "Future"}


@dataclass(frozen=True)
class PolicyRow:
    """A version of a policy in the library."""

    id: str
    version: str
    title: str
    kind: str
    rank: int
    effective: date
    until: date | None
    status: VersionStatus
    status_label: str


class LibrarySearch(NamedTuple):
    """The versions that match what was typed, and what was searched for."""

    rows: list[PolicyRow]
    terms: dict[str, str]

    @property
    def records(self) -> tuple[str, ...]:
        """The versions, as the log names them."""
        return tuple(f"policy/{row.id}/{row.version}" for row in self.rows)


class OpenedVersion(NamedTuple):
    """A version of a policy as the portal shows it, and what the log says of it."""

    row: PolicyRow
    document: PolicyDocument

    @property
    def record(self) -> str:
        """The version, as the log names it."""
        return f"policy/{self.row.id}/{self.row.version}"

    @property
    def shown(self) -> dict[str, str]:
        """The values that matter."""
        return {"policy": self.row.id, "version": self.row.version, "status": self.row.status}


def search_library(desk: Desk, form: FormValues) -> LibrarySearch:
    """Return the versions that match a text, a code and a day, and log the search. Problems are in the form."""
    text, code = form.text("text", "The words", 100), form.text("code", "The code", 10)
    day = form.day("day", "The day")
    if form.problems:
        return LibrarySearch([], {})
    known = desk.records.book.list_policies(desk.payer_ids)
    found = LibrarySearch(
        [_build_row(desk, *each) for each in search_versions(known, text, code, day)],
        {name: value for name, value in (("text", text), ("code", code), ("day", str(day or ""))) if value},
    )
    if found.terms:
        desk.action.emit(Searched(session=desk.session, subject="policy", terms=found.terms, records=found.records))
    return found


def _build_row(desk: Desk, policy: Policy, version: PolicyVersion) -> PolicyRow:
    status = version.find_status(desk.today)
    return PolicyRow(
        id=policy.id,
        version=version.number,
        title=policy.title,
        kind=KIND_LABELS[policy.kind],
        rank=policy.rank,
        effective=version.effective,
        until=version.until,
        status=status,
        status_label=STATUS_LABELS[status],
    )


def _find_version(desk: Desk, id: str, number: str) -> tuple[Policy, PolicyVersion]:
    known = {each.id: each for each in desk.records.book.list_policies(desk.payer_ids)}
    policy = known.get(id)
    version = policy.find_version(number) if policy else None
    if policy is None or version is None:
        raise DeskRefusal(NOT_FOUND, "There is no such policy or version.", "Search the library of policies.")
    return policy, version


def open_version(desk: Desk, id: str, number: str) -> OpenedVersion:
    """Return a version of a policy."""
    policy, version = _find_version(desk, id, number)
    return OpenedVersion(_build_row(desk, policy, version), build_document(policy, version))


def download_version(desk: Desk, id: str, number: str) -> DownloadedFile:
    """Return a version of a policy as PDF."""
    policy, version = _find_version(desk, id, number)
    data = write_policy_pdf(build_document(policy, version))
    desk.action.emit(Downloaded(session=desk.session, what="policy", id=f"{policy.id}/{version.number}"))
    return DownloadedFile(f"{policy.id}_{version.number}.pdf", PDF, data)
