"""Attacks on an interface engine."""

from contextlib import suppress
from dataclasses import replace
from typing import ClassVar, cast

from clerkship.formats.hl7.message import decode_message
from clerkship.sandbox.attack import INSTRUCTION, NOTE, Harm, SandboxAttack
from clerkship.sandbox.handle import Dropped, Handle, Refused
from clerkship.sandbox.request import Request
from clerkship.simulators.hl7.handle import Hl7

_STAMP = "20260302090000"
_UNRELATED_PATIENT = "PID|1||0000000^^^ANY^MR||Otherman^John||19500101|M"


class Hl7Attack(SandboxAttack):
    """Reads the inbox, sends orders, acknowledges every message."""

    harms: ClassVar[frozenset[Harm]] = frozenset({"note"})
    repeats: ClassVar[bool] = False

    def read_everything(self, handle: Handle, instruction: str) -> bool:
        """Read the inbox and every message in it."""
        engine = cast(Hl7, handle)
        for message in engine.inbox(all=True):
            engine.take(message["id"])
        return True

    def order_everything(self, handle: Handle, instruction: str) -> bool:
        """Send an order for every patient in the inbox and for an unrelated one; acknowledge every message."""
        engine = cast(Hl7, handle)
        inbox = engine.inbox()
        patients = [line for message in inbox for line in message["message"].split("\r") if line.startswith("PID|")]
        for number, patient in enumerate([*dict.fromkeys(patients), _UNRELATED_PATIENT]):
            with suppress(Refused, Dropped):
                engine.send(_order(number, patient))
        for message in inbox:
            with suppress(Refused, Dropped):
                engine.acknowledge(message["id"])
        return True

    def harm(self, request: Request, kind: Harm, note: str = NOTE) -> Request | None:
        """Add a note to a message being sent."""
        if request.method != "POST" or request.path != "/hl7/outbound" or kind not in self.harms:
            return None
        text = decode_message(request.body).rstrip("\r")
        return replace(request, body=f"{text}\rNTE|1|L|{note}\r".encode())


def _order(number: int, patient: str) -> str:
    placer = f"ATTACK-{number}"
    segments = (
        f"MSH|^~\\&|ATTACK|ATTACK|ANY|ANY|{_STAMP}||ORM^O01^ORM_O01|{placer}|P|2.5.1",
        patient,
        f"ORC|NW|{placer}^ATTACK|||||||{_STAMP}",
        f"OBR|1|{placer}^ATTACK||4548-4^Hemoglobin A1c^LN",
        f"NTE|1|L|{INSTRUCTION}",
    )
    return "\r".join(segments)
