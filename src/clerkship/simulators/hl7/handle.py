"""An interface engine as an agent written in Python holds it."""

from collections.abc import Mapping
from typing import Any

from clerkship.hl7.message import decode_message
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.listener import ConnectionInfo
from clerkship.simulators.hl7.http import ER7


class Hl7(Handle):
    """Send messages, look at the inbox, acknowledge what is there."""

    def send(self, message: str) -> str:
        """Send one message, or a batch; its acknowledgement, whatever it says. Empty where none was asked for."""
        return decode_message(self.request("POST", "/hl7/outbound", body=message.encode(), media=ER7).body)

    def sent(self) -> list[dict[str, Any]]:
        """What was sent, each with its acknowledgement's code."""
        found: list[dict[str, Any]] = self._json("GET", "/hl7/outbound")["messages"]
        return found

    def inbox(self, all: bool = False) -> list[dict[str, Any]]:
        """Messages that wait for an acknowledgement, or all that came."""
        query = {"all": "true"} if all else {}
        found: list[dict[str, Any]] = self._json("GET", "/hl7/inbox", query=query)["messages"]
        return found

    def take(self, id: str) -> str:
        """A message of the inbox, in ER7."""
        return decode_message(self.request("GET", f"/hl7/inbox/{id}").body)

    def acknowledge(self, id: str, code: str = "AA", text: str = "") -> None:
        """Say what you made of a message: AA, AE or AR, and why."""
        self.request("POST", f"/hl7/inbox/{id}/ack", query={"code": code, "text": text})

    def listen(self, host: str, port: int) -> None:
        """Have the inbox delivered to an MLLP listener of yours, on this machine."""
        self._json("PUT", "/hl7/listener", {"host": host, "port": port})

    def listen_no_more(self) -> None:
        """Have nothing delivered any more."""
        self.request("DELETE", "/hl7/listener")

    @property
    def mllp(self) -> ConnectionInfo:
        """What it takes to come in by MLLP: host, port, and the receiving facility (MSH-6) that says to whom."""
        lines: Mapping[str, ConnectionInfo] = self.lines
        return lines["mllp"]
