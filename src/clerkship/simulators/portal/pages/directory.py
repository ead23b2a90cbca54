"""The directory of providers."""

from clerkship.simulators.portal.describe import build_provider_row
from clerkship.simulators.portal.desk import Desk
from clerkship.simulators.portal.directory import find_in_directory
from clerkship.simulators.portal.member_lookup import list_plans
from clerkship.simulators.portal.pages.members import read_form
from clerkship.simulators.portal.site import PageRequest, Shown, SitePage
from clerkship.simulators.portal.views import DirectoryView


def search_directory(desk: Desk, request: PageRequest) -> Shown:
    """Search the directory by name, NPI and plan."""
    form = read_form(desk, request)
    found = find_in_directory(desk, form)
    view = DirectoryView(
        title="Provider directory",
        plans=list_plans(desk),
        searched=found.is_asked,
        rows=[build_provider_row(desk, each) for each in found.providers],
        values={"name": found.name, "npi": found.npi, "plan": found.plan},
        problems=form.problems,
    )
    return Shown(view, tuple(f"provider/{each.npi}" for each in found.providers))


PAGES = (SitePage("GET", "/providers", search_directory, "directory"),)
