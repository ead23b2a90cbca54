"""Other ways to send what the reference solutions of `suites/revenue` send to the clearinghouse.

They wrap `clearing.send` of any solution. What they return is what a solution parses: one or more interchanges.
"""

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

from clerkship.formats.x12.interchange import parse_interchanges
from clerkship.sandbox.request import Request
from clerkship.transports.multipart import parse_form
from tests.suites.test_shipped import ROOT

REVENUE = ROOT / "suites" / "revenue"
Solve = Callable[[Any, Any], Any]
NEW_NUMBERS = 500_000
"""Added to the ISA13 of a solution for what is sent beside it."""
_BOUNDARY = "----office"
_FORM = f"multipart/form-data; boundary={_BOUNDARY}"


class RevenueWay:
    """All sandboxes. What is sent to the clearinghouse goes through `send` of this class."""

    def __init__(self, sandboxes: Any) -> None:
        self.sandboxes = sandboxes
        self.clearing = sandboxes["clearing"]

    @classmethod
    def wrap(cls, solve: Solve) -> Solve:
        """Return the solution with wrapped sandboxes."""
        return lambda task_item, sandboxes: solve(task_item, cls(sandboxes))

    def __getitem__(self, name: str) -> Any:
        wrapped = {"clearing": WrappedClearing, "drop": WrappedDrop}
        return wrapped[name](self) if name in wrapped else self.sandboxes[name]

    def __getattr__(self, name: str) -> Any:
        """The clock."""
        return getattr(self.sandboxes, name)

    def send(self, edi: str) -> str:
        """Send an interchange and return the reply."""
        reply: str = self.clearing.send(edi)
        return reply

    def write_edi(self, edi: str) -> str:
        """Return an interchange as it is to be written to a file."""
        return edi


class WrappedDrop:
    """The file drop, of which writing interchanges is wrapped."""

    def __init__(self, way: RevenueWay) -> None:
        self._way = way

    def __getattr__(self, name: str) -> Any:
        return getattr(self._way.sandboxes["drop"], name)

    def write(self, path: str, data: str) -> None:
        """Write a file."""
        self._way.sandboxes["drop"].write(path, self._way.write_edi(data) if data.startswith("ISA") else data)


class WrappedClearing:
    """The clearinghouse, of which only `send` is wrapped."""

    def __init__(self, way: RevenueWay) -> None:
        self._way = way
        self.send = way.send

    def __getattr__(self, name: str) -> Any:
        return getattr(self._way.clearing, name)


class UseOtherDelimiters(RevenueWay):
    """Other separators, and a line break after each segment."""

    def send(self, edi: str) -> str:
        """Send the same segments, written differently."""
        return super().send(self.write_edi(edi))

    def write_edi(self, edi: str) -> str:
        """Replace the separators."""
        return edi.translate(str.maketrans("*^:~", "|!>'")).replace("'", "'\r\n")


class UseSmallLetters(RevenueWay):
    """Names in small letters, and people without their gender."""

    def send(self, edi: str) -> str:
        """Send the same questions."""
        return super().send(self.write_edi(edi))

    def write_edi(self, edi: str) -> str:
        """Write the names of people in small letters, and leave out DMG03."""
        edi = re.sub(r"(~DMG\*D8\*\d{8})\*[MF]", r"\1", edi)
        return re.sub(r"(?<=~NM1\*IL\*1\*)[^~]*?(?=\*\*\*\*)", lambda name: name[0].title(), edi)


class UseCoreEnvelope(RevenueWay):
    """The multipart envelope of the CORE connectivity rule."""

    def send(self, edi: str) -> str:
        """Submit the interchange as a payload."""
        [interchange] = parse_interchanges(edi)
        fields = {
            "PayloadType": f"X12_{interchange.sets[0].code}_Request_{interchange.groups[0].version}",
            "ProcessingMode": "RealTime",
            "PayloadID": str(UUID(int=int(interchange.control_number))),
            "TimeStamp": self.sandboxes.now.isoformat(timespec="seconds"),
            "SenderID": interchange.sender,
            "ReceiverID": interchange.receiver,
            "CORERuleVersion": "2.2.0",
            "Payload": edi,
        }
        parts = [
            f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        ]
        body = "".join([*parts, f"--{_BOUNDARY}--\r\n"]).encode()
        reply = self.clearing.request("POST", "/x12/core", body=body, media=_FORM)
        answer = Request("POST", "/", {}, {"content-type": reply.media}, reply.body)
        payload = {part.name: part.data for part in parse_form(answer, 40)}["Payload"]
        return payload.decode()


class UseBatchFiles(RevenueWay):
    """A file in the drop, written under a temporary name; the replies appear as files later."""

    def send(self, edi: str) -> str:
        """Leave the interchange as a file, and wait for both replies."""
        drop, number = self.sandboxes["drop"], edi[90:99]
        earlier = set(drop.list("inbound"))
        drop.write(f"outbound/{number}.x12.part", edi)
        drop.rename(f"outbound/{number}.x12.part", f"outbound/{number}.x12")
        self.sandboxes.wait("30m")
        return "".join(drop.read_text(path) for path in sorted(set(drop.list("inbound")) - earlier))


class AskTwice(RevenueWay):
    """Each interchange twice, under two control numbers."""

    def send(self, edi: str) -> str:
        """Send it, and send it again."""
        super().send(renumber(edi))
        return super().send(edi)


class MendSlips(RevenueWay):
    """Each interchange first with a wrong segment count, and then for an unknown receiver; both are refused."""

    def send(self, edi: str) -> str:
        """Send two that are refused, then the right one."""
        refused = super().send(re.sub(r"~SE\*\d+", "~SE*999", renumber(edi)))
        assert any(each.code == "999" for interchange in parse_interchanges(refused) for each in interchange.sets)
        elsewhere = super().send(renumber(edi, 2).replace("CLEARING01     ", "ELSEWHERE01    "))
        assert parse_interchanges(elsewhere)[0].acknowledgments
        return super().send(edi)


def renumber(edi: str, times: int = 1) -> str:
    """Return an interchange under another control number (ISA13, IEA02)."""
    number = edi[90:99]
    return edi.replace(number, f"{int(number) + times * NEW_NUMBERS:09}")


WAYS = ("UseOtherDelimiters", "UseSmallLetters", "UseCoreEnvelope", "UseBatchFiles", "AskTwice", "MendSlips")
NOT_APPLICABLE: dict[str, tuple[str, ...]] = {
    # The second of two requests for the same authorization is rejected.
    "AskTwice": (
        "Get the answer to a question*",
        "Request an authorization*",
        "Request only the visits*",
        "Answer the questions*",
        "Adapt an order*",
        "Send an interchange *",
    ),
    "MendSlips": ("Get the answer to a question*",),
}
"""Way -> tasks (patterns of their names) for which it would not be correct."""
