"""The HTTP routes of a payer portal: pages, forms and downloads."""

from clerkship.simulators.portal.pages import (
    claims,
    directory,
    draft_form,
    home,
    inbox,
    members,
    policies,
    requests,
    sign_in,
)
from clerkship.simulators.portal.site import build_route

PAGES = (
    *home.PAGES,
    *sign_in.PAGES,
    *members.PAGES,
    *requests.PAGES,
    *draft_form.PAGES,
    *claims.PAGES,
    *inbox.PAGES,
    *directory.PAGES,
    *policies.PAGES,
)
PAGE_ROUTES = (*sign_in.SIGN_IN_ROUTES, *map(build_route, PAGES))
LAST_ROUTES = tuple(map(build_route, home.LAST_PAGES))
"""After those of the REST API."""
