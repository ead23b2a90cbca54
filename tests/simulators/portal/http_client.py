"""A client of a payer portal over HTTP that keeps no cookies of its own: what an attacker sends."""

import http.client
import re
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from tests.simulators.portal.portal_site import PortalSite

FORM = "application/x-www-form-urlencoded"


class HttpReply(NamedTuple):
    """A reply, with its redirect not followed."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def token(self) -> str:
        """The CSRF token of the page."""
        found = re.search(rb'name="csrf" value="([0-9a-f]+)"', self.body)
        return found[1].decode() if found else ""

    @property
    def cookie(self) -> str:
        """The cookie that it sets."""
        return self.headers.get("set-cookie", "").partition(";")[0]


def send(site: PortalSite, method: str, path: str, cookie: str = "", body: bytes = b"", media: str = FORM) -> HttpReply:
    """Send one request."""
    address = urlsplit(site.rig.url())
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=30)
    headers = {"content-type": media} if method == "POST" else {}
    connection.request(method, f"{address.path}{path}", body, headers | ({"cookie": cookie} if cookie else {}))
    reply = connection.getresponse()
    answer = HttpReply(reply.status, {name.lower(): text for name, text in reply.getheaders()}, reply.read())
    connection.close()
    return answer


def post(site: PortalSite, path: str, cookie: str = "", **fields: str) -> HttpReply:
    """Send a form."""
    return send(site, "POST", path, cookie, urlencode(fields).encode())


def sign_in(site: PortalSite, cookie: str = "", **fields: str) -> HttpReply:
    """Sign in; the reply has the cookie."""
    info = site.portal.credentials["portal"]
    return post(site, "/sign-in", cookie, username=str(info["username"]), password=str(info["password"]), **fields)
