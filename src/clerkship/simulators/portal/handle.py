"""The Python client of a payer portal: its pages as a browser without scripts uses them, and its REST API."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import orjson

from clerkship.sandbox.handle import Dropped, Handle, Incomplete, SandboxTransport
from clerkship.sandbox.request import REDIRECTS, Reply, Request, to_query
from clerkship.simulators.portal.page_reader import Form, PortalPage

MAX_REDIRECTS = 10
URLENCODED = "application/x-www-form-urlencoded"
_BOUNDARY = "portal-form-6b1f0c3a9d"


class FormFile(NamedTuple):
    """A file to upload."""

    name: str
    data: bytes


class PortalBrowser:
    """Pages one after the other: what is shown, and what is sent."""

    def __init__(self, portal: "Portal") -> None:
        self._portal = portal
        self.page = PortalPage(0, "")
        """The page that is shown."""

    def open(self, path: str, query: Mapping[str, str] | None = None) -> PortalPage:
        """Open a page, and follow redirects."""
        return self._go(Request("GET", path, to_query(query)))

    def sign_in(self, username: str = "", password: str = "") -> PortalPage:
        """Sign in: by default as the user of the sandbox."""
        info = self._portal.credentials.get("portal", {})
        fields = {
            "username": username or str(info.get("username", "")),
            "password": password or str(info.get("password", self._portal.token)),
        }
        return self.post("/sign-in", fields)

    def send(self, button: str, fields: Mapping[str, str] | None = None, files: Sequence[FormFile] = ()) -> PortalPage:
        """Fill in the form that has a button, and press it. Fields that are not given keep their values."""
        form = self.page.find_form(button)
        pressed = next((name, value) for name, value, label in form.buttons if button in (value, label))
        typed = {**form.fields, **(fields or {}), **({pressed[0]: pressed[1]} if pressed[0] else {})}
        return self.submit(form, typed, files)

    def submit(self, form: Form, fields: Mapping[str, str], files: Sequence[FormFile] = ()) -> PortalPage:
        """Send a form with these fields."""
        path = self._to_path(form.action) or self.page.path
        if form.method == "GET":
            return self.open(path, {name: value for name, value in fields.items() if name != "csrf"})
        return self.post(path, fields, files)

    def post(self, path: str, fields: Mapping[str, str], files: Sequence[FormFile] = ()) -> PortalPage:
        """Send fields and files, and follow redirects."""
        media, body = encode_form(fields, files)
        return self._go(Request("POST", path, {}, {"content-type": media}, body))

    def follow(self, label: str) -> PortalPage:
        """Follow the first link with a label; raises LookupError."""
        for target, text in self.page.links:
            if text == label:
                return self.open_link(target)
        raise LookupError(f"the page “{self.page.heading}” has no link {label!r}")

    def open_link(self, target: str) -> PortalPage:
        """Open the target of a link."""
        return self.open(*self._split(target))

    def _go(self, request: Request) -> PortalPage:
        for _ in range(MAX_REDIRECTS):
            reply = self._portal.send_as_is(request)
            if reply.lost:
                raise Dropped(f"no reply to {request.method} {request.path}")
            if reply.delivery.promised is not None:
                raise Incomplete(reply)
            if reply.status not in REDIRECTS:
                self.page = PortalPage(reply.status, request.path, reply.body.decode(errors="replace"))
                return self.page
            path, query = self._split(reply.headers.get("Location") or reply.headers.get("location", "/"))
            request = Request("GET", path, to_query(query))
        raise Dropped(f"more than {MAX_REDIRECTS} redirects")

    def _split(self, target: str) -> tuple[str, dict[str, str]]:
        parts = urlsplit(target)
        return self._to_path(parts.path) or "/", dict(parse_qsl(parts.query, keep_blank_values=True))

    def _to_path(self, path: str) -> str:
        """Return a path of the sandbox, without what comes before it over HTTP."""
        base = urlsplit(self._portal.url).path.rstrip("/")
        return path.removeprefix(base) if base else path


class Portal(Handle):
    """A payer portal. `sign_in`, `open`, `send` and `post` work with its pages, `api` with its REST API."""

    def __init__(self, transport: SandboxTransport) -> None:
        super().__init__(transport)
        self._browser = PortalBrowser(self)

    @property
    def page(self) -> PortalPage:
        """The page that is shown."""
        return self._browser.page

    def sign_in(self, username: str = "", password: str = "") -> PortalPage:
        """Sign in: by default as the user of the sandbox."""
        return self._browser.sign_in(username, password)

    def open(self, path: str, query: Mapping[str, str] | None = None) -> PortalPage:
        """Open a page, and follow redirects."""
        return self._browser.open(path, query)

    def send(
        self, button: str, fields: Mapping[str, str] | None = None, files: Sequence[tuple[str, bytes]] = ()
    ) -> PortalPage:
        """Fill in the form of the page that has a button, and press it. Files are names with their contents."""
        return self._browser.send(button, fields, [FormFile(*each) for each in files])

    def post(self, path: str, fields: Mapping[str, str]) -> PortalPage:
        """Send fields to a path, and follow redirects."""
        return self._browser.post(path, fields)

    def browser(self) -> PortalBrowser:
        """Return another browser without scripts."""
        return PortalBrowser(self)

    def api(self, method: str, path: str, data: Any = None, query: Mapping[str, str] | None = None) -> Any:
        """Send a request to the REST API, such as `GET /requests`; return the data of the reply."""
        return self._json(method, f"/api{path}", data, query)

    def upload(self, path: str, name: str, data: bytes, type: str = "other") -> Any:
        """Send a file to the REST API."""
        media, body = encode_form({"type": type}, [FormFile(name, data)])
        return orjson.loads(self.request("POST", f"/api{path}", body=body, media=media).body)

    def download(self, path: str) -> Reply:
        """Return a file, such as a letter."""
        return self.request("GET", path)


def encode_form(fields: Mapping[str, str], files: Sequence[FormFile]) -> tuple[str, bytes]:
    """Return the media type and the body of a form."""
    if not files:
        return URLENCODED, urlencode(fields).encode()
    parts = [
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    for file in files:
        head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n'
        parts.append(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode() + file.data + b"\r\n")
    return f"multipart/form-data; boundary={_BOUNDARY}", b"".join(parts) + f"--{_BOUNDARY}--\r\n".encode()
