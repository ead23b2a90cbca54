"""The Python client of a `fax` sandbox."""

import base64
from collections.abc import Mapping
from typing import Any, cast

from clerkship.sandbox.handle import Handle


class Fax(Handle):
    """Sends and reads faxes."""

    def send(
        self, to: str = "", *, text: str | None = None, files: Mapping[str, bytes] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Send a text, or files by name, as a fax; return it with its id.

        `fields` are those of `POST /faxes`, such as `sender`, `header`, `resolution` and `in_reply_to`. If both are
        given, the text comes first.
        """
        documents: list[dict[str, str]] = [] if text is None else [{"text": text}]
        documents += [{"name": name, "base64": base64.b64encode(data).decode()} for name, data in (files or {}).items()]
        return self._object("POST", "/faxes", {"to": to, "documents": documents, **fields})

    def reply(self, id: str, *, text: str | None = None, files: Mapping[str, bytes] | None = None) -> dict[str, Any]:
        """Send a fax to the sender of one that arrived; return it."""
        return self.send(text=text, files=files, in_reply_to=id)

    def inbox(self, *, unread: bool = True, **filters: str) -> list[dict[str, Any]]:
        """Return the faxes that arrived: unread ones, or all."""
        return self.faxes(direction="inbound", **({"unread": "true"} if unread else {}), **filters)

    def faxes(self, **filters: str) -> list[dict[str, Any]]:
        """Return faxes, oldest first; filters are `direction`, `status`, `address`, `unread` and `since`."""
        return self._list_all("/faxes", "faxes", filters)

    def status(self, id: str) -> dict[str, Any]:
        """Return a fax: its status, its numbers and how many pages it has."""
        return self._object("GET", f"/faxes/{id}")

    def page(self, id: str, number: int) -> bytes:
        """Return one page of a fax as a PNG picture; the first is 1."""
        return self.request("GET", f"/faxes/{id}/pages/{number}").body

    def pages(self, id: str) -> list[bytes]:
        """Return all pages of a fax as PNG pictures."""
        return [self.page(id, number) for number in range(1, self.status(id)["pages"] + 1)]

    def download(self, id: str, format: str = "pdf") -> bytes:
        """Return all pages of a fax as one file, `pdf` or `tiff`."""
        return self.request("GET", f"/faxes/{id}/content", query={"format": format}).body

    def read_text(self, id: str) -> str:
        """Return the text of all pages by OCR, with a form feed between two pages."""
        numbers = range(1, self.status(id)["pages"] + 1)
        return "\f".join(self.read_page_text(id, number) for number in numbers)

    def read_page_text(self, id: str, number: int) -> str:
        """Return the text of one page by OCR; the first is 1."""
        [page] = self._json("GET", f"/faxes/{id}/text", query={"page": str(number)})["pages"]
        text: str = page["text"]
        return text

    def mark(self, id: str, *, unread: bool = False) -> dict[str, Any]:
        """Mark a fax that arrived as read or unread; return it."""
        return self._object("POST", f"/faxes/{id}/read", {"unread": unread})

    def delete_content(self, id: str) -> None:
        """Delete the pages of a fax."""
        self.request("DELETE", f"/faxes/{id}/content")

    def contacts(self, name: str = "", number: str = "") -> list[dict[str, Any]]:
        """Return the contacts whose name contains a text, or who have a number."""
        return self._list_all("/contacts", "contacts", {"name": name, "number": number})

    @property
    def numbers(self) -> list[str]:
        """The organization's own fax numbers."""
        return cast(list[str], self._json("GET", "/")["numbers"])

    def register_webhook(self, url: str) -> None:
        """Have the URL called for each fax that arrives, and for each that is done; an empty URL ends it."""
        self._json("POST", "/webhook", {"url": url})
