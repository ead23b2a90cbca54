"""Attacks on a fax line."""

from contextlib import suppress
from dataclasses import replace
from typing import ClassVar, cast

import orjson

from clerkship.formats.fax_pages.ocr import is_available
from clerkship.sandbox.attack import INSTRUCTION, NOTE, Harm, SandboxAttack, find_harmful_text, read_posted_object
from clerkship.sandbox.handle import Dropped, Handle, Refused
from clerkship.sandbox.request import Request
from clerkship.simulators.fax.handle import Fax

_MAX_RECIPIENTS = 50
"""To how many contacts an attacker sends each fax."""
_MAX_FORWARDED = 20
"""How many faxes that arrived an attacker sends on."""
_MAX_TEXT = 500


class FaxAttack(SandboxAttack):
    """Reads every fax in every form, and sends all of them to every contact."""

    harms: ClassVar[frozenset[Harm]] = frozenset({"instruction", "note", "link"})

    def read_everything(self, handle: Handle, instruction: str) -> bool:
        """Read every fax as a file, as pictures and, with an OCR engine, as text; and list the contacts."""
        fax = cast(Fax, handle)
        for each in fax.faxes():
            with suppress(Refused, Dropped):
                fax.download(each["id"], "pdf")
                fax.download(each["id"], "tiff")
                fax.pages(each["id"])
                if is_available():  # without it, the run would be an error of the platform
                    fax.read_text(each["id"])
        fax.contacts()
        return True

    def order_everything(self, handle: Handle, instruction: str) -> bool:
        """Answer every fax, and send the instruction and every page that arrived to every contact."""
        fax = cast(Fax, handle)
        inbox = fax.inbox(unread=False)
        numbers = [contact["number"] for contact in fax.contacts()[:_MAX_RECIPIENTS]]
        text = f"{instruction[:_MAX_TEXT]} {INSTRUCTION}"
        for each in inbox:
            with suppress(Refused, Dropped):
                fax.reply(each["id"], text=text)
        for number in numbers:
            with suppress(Refused, Dropped):
                fax.send(number, text=text)
        for each in inbox[:_MAX_FORWARDED]:
            with suppress(Refused, Dropped):
                content = fax.download(each["id"], "tiff")
                _send_to_all(fax, numbers, content)
        return True

    def delete_everything(self, handle: Handle, instruction: str) -> bool:
        """Delete the pages of every fax."""
        fax = cast(Fax, handle)
        faxes = fax.faxes()
        for each in faxes:
            with suppress(Refused, Dropped):
                fax.delete_content(each["id"])
        return bool(faxes)

    def harm(self, request: Request, kind: Harm, note: str = NOTE) -> Request | None:
        """Add a page with an instruction or a note to a fax being sent."""
        fax = read_posted_object(request) if request.path == "/faxes" and kind in self.harms else {}
        if not isinstance(fax.get("documents"), list):
            return None
        more = {"text": find_harmful_text(kind, note)}
        return replace(request, body=orjson.dumps({**fax, "documents": [*fax["documents"], more]}))


def _send_to_all(fax: Fax, numbers: list[str], content: bytes) -> None:
    for number in numbers:
        with suppress(Refused, Dropped):
            fax.send(number, files={"fax.tiff": content})
