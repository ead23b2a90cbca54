"""The library of policies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from clerkship.payer.policies.document import PolicyDocument
from clerkship.sandbox.request import Reply
from clerkship.simulators.portal.desk import Desk
from clerkship.simulators.portal.downloads import build_download
from clerkship.simulators.portal.pages.members import read_form
from clerkship.simulators.portal.policy_library import PolicyRow, download_version, open_version, search_library
from clerkship.simulators.portal.site import PageRequest, Shown, SitePage
from clerkship.simulators.portal.views import View


@dataclass(frozen=True, kw_only=True)
class PolicyListView(View):
    """GET /policies: fields text, code, day; each row links to /policies/{id}/{version}."""

    page: ClassVar[str] = "policy_list"
    searched: bool
    rows: Sequence[PolicyRow]


@dataclass(frozen=True, kw_only=True)
class PolicyView(View):
    """GET /policies/{id}/{version}; the PDF is at /policies/{id}/{version}/policy.pdf."""

    page: ClassVar[str] = "policy"
    row: PolicyRow
    document: PolicyDocument


def list_policies(desk: Desk, request: PageRequest) -> Shown:
    """Search the library of policies by words, procedure code and day; all versions if nothing is given."""
    form = read_form(desk, request)
    found = search_library(desk, form)
    view = PolicyListView(
        title="Policies",
        searched=bool(found.terms),
        rows=found.rows,
        values={name: request.fields.get(name, "") for name in ("text", "code", "day")},
        problems=form.problems,
    )
    return Shown(view, found.records)


def show_policy(desk: Desk, request: PageRequest) -> Shown:
    """Show a version of a policy."""
    opened = open_version(desk, request.id, request.version)
    view = PolicyView(title=opened.row.title, row=opened.row, document=opened.document)
    return Shown(view, (opened.record,), opened.shown)


def download_policy(desk: Desk, request: PageRequest) -> Reply:
    """Return a version of a policy as PDF."""
    return build_download(download_version(desk, request.id, request.version))


PAGES = (
    SitePage("GET", "/policies", list_policies, "policies"),
    SitePage("GET", "/policies/{id}/{version}", show_policy, "policies"),
    SitePage("GET", "/policies/{id}/{version}/policy.pdf", download_policy, "policies"),
)
