"""The first page, announcements, the profile, and pages that do not exist."""

from collections import Counter
from itertools import islice

from clerkship.simulators.portal.config import ALL_RIGHTS
from clerkship.simulators.portal.describe import STATUS_LABELS, build_draft_row, build_request_row
from clerkship.simulators.portal.desk import NOT_FOUND, RIGHT_NAMES, Desk, DeskRefusal
from clerkship.simulators.portal.site import PageRequest, Shown, SitePage
from clerkship.simulators.portal.views import AnnouncementRow, Fact, HomeView, ProfileView

RECENT = 5
"""How many requests and drafts the first page lists."""


def show_home(desk: Desk, request: PageRequest) -> Shown:
    """Show the first page."""
    has_right = "authorizations" in desk.user.rights
    requests = list(desk.list_requests()) if has_right else []
    counts = Counter[str](each.status for each in requests)
    drafts = list(reversed(desk.state.drafts.values())) if has_right else []
    view = HomeView(
        title="Home",
        announcements=list_announcements(desk),
        counts=[(status, label, counts[status]) for status, label in STATUS_LABELS.items()],
        recent=[build_request_row(desk, each) for each in islice(requests, RECENT)],
        drafts=[build_draft_row(desk, each) for each in drafts[:RECENT]],
    )
    records = [f"request/{each.id}" for each in requests[:RECENT]] + [f"draft/{each.id}" for each in drafts[:RECENT]]
    return Shown(view, tuple(records))


def list_announcements(desk: Desk) -> list[AnnouncementRow]:
    """Return the announcements, newest first: those that steps published, then those of the config."""
    published = [AnnouncementRow(desk.local_time(each.published), each.text) for each in desk.state.announcements]
    first = desk.local_time(desk.action.now).replace(hour=0, minute=0, second=0, microsecond=0)
    return [*reversed(published), *(AnnouncementRow(first, text) for text in desk.state.config.announcements)]


def show_profile(desk: Desk, request: PageRequest) -> Shown:
    """Show the user's own data."""
    user = desk.user
    facts = [
        Fact("Name", user.name),
        Fact("User name", user.username),
        Fact("Phone", user.phone),
        Fact("E-mail", user.email),
        Fact("Organization", desk.organization),
        Fact("NPI", desk.npi),
    ]
    rights = [Fact(RIGHT_NAMES[right].capitalize(), "Yes" if right in user.rights else "No") for right in ALL_RIGHTS]
    return Shown(ProfileView(title="Profile", facts=facts, rights=rights))


def show_missing_page(desk: Desk, request: PageRequest) -> Shown:
    """Say that a page does not exist."""
    raise DeskRefusal(NOT_FOUND, "This page does not exist, or was moved.", "Use the menu to find what you need.")


def refuse_unknown_form(desk: Desk, request: PageRequest) -> Shown:
    """Refuse a form that no page has."""
    raise DeskRefusal(
        NOT_FOUND, "This form does not exist. Nothing was changed.", "Use the menu to find what you need."
    )


PAGES = (
    SitePage("GET", "/", show_home, "home"),
    SitePage("GET", "/profile", show_profile, "profile"),
)
LAST_PAGES = (
    SitePage("GET", "/{path*}", show_missing_page),
    SitePage("POST", "/{path*}", refuse_unknown_form),
)
"""After all others: they match every path."""
