"""The Python client of an `hl7` sandbox."""

from collections.abc import Mapping
from typing import Any

from clerkship.formats.hl7.message import decode_message
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.request import ConnectionInfo
from clerkship.simulators.hl7.http import ER7


class Hl7(Handle):
    """Sends messages, reads the inbox, and acknowledges its messages."""

    def send(self, message: str) -> str:
        """Send one message or a batch, and return its acknowledgment, positive or not.

        The result is empty if the message requests no acknowledgment.
        """
        return decode_message(self.request("POST", "/hl7/outbound", body=message.encode(), media=ER7).body)

    def sent(self) -> list[dict[str, Any]]:
        """Return the messages that were sent, each with the code of its acknowledgment."""
        return self._list("/hl7/outbound", "messages")

    def inbox(self, all: bool = False) -> list[dict[str, Any]]:
        """Return the messages that are not acknowledged, or all that arrived."""
        query = {"all": "true"} if all else {}
        return self._list("/hl7/inbox", "messages", query)

    def take(self, id: str) -> str:
        """Return a message of the inbox, in ER7."""
        return decode_message(self.request("GET", f"/hl7/inbox/{id}").body)

    def acknowledge(self, id: str, code: str = "AA", text: str = "") -> None:
        """Acknowledge a message of the inbox with AA, AE or AR, and a reason."""
        self.request("POST", f"/hl7/inbox/{id}/ack", query={"code": code, "text": text})

    def listen(self, host: str, port: int) -> None:
        """Register your MLLP listener on this machine; messages of the inbox are delivered there."""
        self._json("PUT", "/hl7/listener", {"host": host, "port": port})

    def stop_listening(self) -> None:
        """Deregister your MLLP listener."""
        self.request("DELETE", "/hl7/listener")

    @property
    def mllp(self) -> ConnectionInfo:
        """How to connect over MLLP: host, port, and the receiving facility (MSH-6) that selects this sandbox."""
        lines: Mapping[str, ConnectionInfo] = self.listeners
        return lines["mllp"]
