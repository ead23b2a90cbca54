"""What run coverage counts at a payer portal: its pages, and the sections of the form of a request."""

from collections.abc import Iterator
from typing import Any

from clerkship.sandbox.run_coverage import CoverageDimension, CoveredItem, LoggedEvent
from clerkship.simulators.portal import views
from clerkship.simulators.portal.config import PortalConfig
from clerkship.simulators.portal.events import PageViewed
from clerkship.simulators.portal.request_form import SECTIONS


def _list_pages(config: PortalConfig, base: Any) -> Iterator[CoveredItem]:
    """Yield the pages that are logged: not those without a session, nor errors, which have events of their own."""
    friction, hidden = config.friction, {views.SignInView, views.MessageView, views.DraftView}
    hidden |= {views.CodeView} if friction.one_time_code == "off" else set()
    hidden |= {views.HumanCheckView} if friction.human_check == "off" else set()
    hidden |= set() if friction.password_expired else {views.PasswordView}
    yield from (("pages", each.page) for each in views.View.__subclasses__() if each not in hidden)
    yield from ((views.DraftView.page, section) for section in SECTIONS)


def _find_page(event: LoggedEvent) -> list[CoveredItem]:
    page, is_viewed = event["payload"]["page"], event["kind"] == PageViewed.kind
    if page == views.DraftView.page and is_viewed:
        return [(page, event["payload"]["shown"]["step"])]
    return [("pages", page)] if is_viewed else []


DIMENSIONS = (CoverageDimension("portal pages", _list_pages, _find_page),)
