"""Other ways to do what the reference solutions of `suites/fax` do.

They wrap the sandboxes of any solution: faxes go out by another protocol, as another kind of file or in other words,
and those that arrived are read from their pages.
"""

import base64
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import orjson

from clerkship.formats.fax_pages.files import read_tiff, write_pdf, write_png
from clerkship.formats.fax_pages.ocr_text import build_words
from clerkship.formats.fax_pages.text_pages import render_text
from clerkship.sandbox.handle import Refused
from clerkship.simulators.fax.ocr_words import read_words
from clerkship.transports.multipart import FORM
from tests.suites.test_shipped import ROOT

FAX = ROOT / "suites" / "fax"
Solve = Callable[[Any, Any], Any]
Json = dict[str, Any]
Files = Mapping[str, bytes] | None
BOUNDARY = "page-of-a-form"


class FaxWay:
    """All sandboxes. What is faxed goes through `send` of this class, and what is read through `read_page_text`."""

    def __init__(self, sandboxes: Any) -> None:
        self.sandboxes = sandboxes
        self.fax = sandboxes["fax"]

    @classmethod
    def wrap(cls, solve: Solve) -> Solve:
        """Return the solution with wrapped sandboxes."""
        return lambda task_item, sandboxes: solve(task_item, cls(sandboxes))

    def __getitem__(self, name: str) -> Any:
        return WrappedFax(self) if name == "fax" else self.sandboxes[name]

    def __getattr__(self, name: str) -> Any:
        """The clock."""
        return getattr(self.sandboxes, name)

    def send(self, to: str, text: str | None, files: Files, **fields: Any) -> Json:
        """Send a fax."""
        sent: Json = self.fax.send(to, text=text, files=files, **fields)
        return sent

    def read_page_text(self, id: str, number: int) -> str:
        """Return the text of a page."""
        text: str = self.fax.read_page_text(id, number)
        return text

    def find_last_sent(self) -> Json:
        """Return the fax that was sent last."""
        last: Json = self.fax.faxes(direction="outbound")[-1]
        return last


class WrappedFax:
    """The fax line, of which sending and reading are wrapped."""

    def __init__(self, way: FaxWay) -> None:
        self._way = way

    def __getattr__(self, name: str) -> Any:
        return getattr(self._way.fax, name)

    def send(self, to: str = "", *, text: str | None = None, files: Files = None, **fields: Any) -> Json:
        """Send a fax."""
        return self._way.send(to, text, files, **fields)

    def reply(self, id: str, *, text: str | None = None, files: Files = None) -> Json:
        """Send a fax to the sender of one that arrived."""
        return self._way.send("", text, files, in_reply_to=id)

    def read_text(self, id: str) -> str:
        """Return the text of all pages."""
        numbers = range(1, self._way.fax.status(id)["pages"] + 1)
        return "\f".join(self._way.read_page_text(id, number) for number in numbers)

    def read_page_text(self, id: str, number: int) -> str:
        """Return the text of a page."""
        return self._way.read_page_text(id, number)


def list_files(text: str | None, files: Files) -> dict[str, bytes]:
    """Return all documents of a fax as files, the text first."""
    return {**({} if text is None else {"letter.txt": text.encode()}), **(files or {})}


class UseSinch(FaxWay):
    """Send by the API of Sinch."""

    def send(self, to: str, text: str | None, files: Files, **fields: Any) -> Json:
        """Post JSON with files in base64. Sinch has no answers: it goes to the number of the sender."""
        answered = fields.pop("in_reply_to", None)
        number = to or self.fax.status(answered)["sender"]
        documents = [
            {"file": base64.b64encode(data).decode(), "fileType": name.rpartition(".")[2].upper()[:3]}
            for name, data in list_files(text, files).items()
        ]
        names = {"max_retries": "maxRetries", "retry_delay": "retryDelaySeconds", "sender": "from", "labels": "labels"}
        more = {names[name]: value for name, value in fields.items() if name in names}
        project = self.fax._json("GET", "/")["project"]
        self.fax._json("POST", f"/v3/projects/{project}/faxes", {"to": number, "files": documents, **more})
        return self.find_last_sent()


class UseForms(FaxWay):
    """Send a form with files instead of JSON."""

    def send(self, to: str, text: str | None, files: Files, **fields: Any) -> Json:
        """Post a form."""
        values = {"to": to, **{name: str(value) for name, value in fields.items() if value is not None}}
        parts = [
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
            for name, value in values.items()
            if value
        ]
        for name, data in list_files(text, files).items():
            head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            parts.append(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode() + data + b"\r\n")
        body = b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()
        reply = self.fax.request("POST", "/faxes", body=body, media=f"{FORM}; boundary={BOUNDARY}")
        sent: Json = json.loads(reply.body)
        return sent


class SendPdf(FaxWay):
    """Send texts as PDF files that have only pictures of them, so that they are read by OCR."""

    def send(self, to: str, text: str | None, files: Files, **fields: Any) -> Json:
        """Send the text as a PDF file, before the other files."""
        letter = {} if text is None else {"letter.pdf": write_pdf([page for page, _ in render_text(text, "fine")])}
        return super().send(to, None, {**letter, **(files or {})}, **fields)


class SendPng(FaxWay):
    """Send texts as one PNG picture for each page."""

    def send(self, to: str, text: str | None, files: Files, **fields: Any) -> Json:
        """Send the text as pictures, before the other files."""
        pages = [] if text is None else [page for page, _ in render_text(text, "fine")]
        letter = {f"letter-{number}.png": write_png(page) for number, page in enumerate(pages, 1)}
        return super().send(to, None, {**letter, **(files or {})}, **fields)


class WriteLetters(FaxWay):
    """Send texts with a greeting and an ending."""

    def send(self, to: str, text: str | None, files: Files, **fields: Any) -> Json:
        """Add a greeting and an ending to the first page."""
        if text is None:
            return super().send(to, text, files, **fields)
        first, mark, others = text.partition("\f")
        letter = f"Good morning,\n\n{first}\n\nKind regards,\nfront office, Riverbend{mark}{others}"
        return super().send(to, letter, files, **fields)


@cache
def load_texts() -> dict[str, Any]:
    """Return the words of each page of the suite, by its hash."""
    texts: dict[str, Any] = orjson.loads((FAX / "texts" / "pages.json").read_bytes())
    return texts


class ReadPages(FaxWay):
    """Download the pages, and read them by other means than the API. What OCR reads is in the dataset,
    but for a page that came at another minute."""

    def read_page_text(self, id: str, number: int) -> str:
        """Download the fax and read one of its pages."""
        self.fax.download(id, "pdf")
        self.fax.page(id, number)
        page = read_tiff(self.fax.download(id, "tiff"))[number - 1]
        known = load_texts().get(page.hash)
        return (read_words(page) if known is None else build_words(known)).text


class ReadTwice(FaxWay):
    """Read all that was read before again, and the status of all faxes, before each page or fax."""

    def __init__(self, sandboxes: Any) -> None:
        super().__init__(sandboxes)
        self.pages: list[tuple[str, int]] = []

    def _read_again(self) -> None:
        for id, number in self.pages:
            self.fax.read_page_text(id, number)
        for fax in self.fax.faxes():
            self.fax.status(fax["id"])
        self.fax.contacts()

    def send(self, to: str, text: str | None, files: Files, **fields: Any) -> Json:
        """Read, then send."""
        self._read_again()
        return super().send(to, text, files, **fields)

    def read_page_text(self, id: str, number: int) -> str:
        """Read what was read before, then the page."""
        self._read_again()
        self.pages.append((id, number))
        return super().read_page_text(id, number)


class MendSlips(FaxWay):
    """Send each fax first in a form that is refused."""

    def send(self, to: str, text: str | None, files: Files, **fields: Any) -> Json:
        """Send one that is refused, then the right one."""
        try:
            self.fax.send(to, files={"letter.pdf": b"MZ\x90\x00"}, **fields)
        except Refused:
            return super().send(to, text, files, **fields)
        raise AssertionError("a fax was accepted that should be refused")


WAYS = ("UseSinch", "UseForms", "SendPdf", "SendPng", "WriteLetters", "ReadPages", "ReadTwice", "MendSlips")
NOT_APPLICABLE: dict[str, tuple[str, ...]] = {
    # It asks for an answer, and Sinch's API has no reference to the fax that is answered.
    "UseSinch": ("Send back a fax*",),
}
"""Way -> tasks (patterns of their names) for which it would not be correct."""
