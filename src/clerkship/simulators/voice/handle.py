"""The Python client of a `voice` sandbox."""

from collections.abc import Mapping, Sequence
from typing import Any

from clerkship.sandbox.handle import Handle

CallReference = str | Mapping[str, Any]
"""A call: its id, or what a method returned for it."""


class Voice(Handle):
    """Makes and takes phone calls, in words and keys."""

    def dial(self, to: str, from_number: str | None = None) -> dict[str, Any]:
        """Call a number, from the first own number by default; return the call."""
        fields = {"to": to} if from_number is None else {"to": to, "from": from_number}
        return self._object("POST", "/calls", fields)

    def hear(self, call: CallReference, seconds: float | None = None) -> dict[str, Any]:
        """Listen until the far end waits for the agent, at most some seconds; return what was heard."""
        return self._act(call, "hear", {} if seconds is None else {"seconds": seconds})

    def listen(self, call: CallReference, seconds: float | None = None) -> str:
        """Listen as `hear` does, and return the words that were heard, without sounds."""
        return " ".join(part["text"] for part in self.hear(call, seconds)["heard"] if "text" in part)

    def wait(self, call: CallReference, seconds: float) -> dict[str, Any]:
        """Stay on the line for some seconds; return what was heard."""
        return self._act(call, "wait", {"seconds": seconds})

    def say(self, call: CallReference, text: str) -> dict[str, Any]:
        """Say something."""
        return self._act(call, "say", {"text": text})

    def press(self, call: CallReference, digits: str) -> dict[str, Any]:
        """Press keys: 0-9, * and #."""
        return self._act(call, "press", {"digits": digits})

    def hold(self, call: CallReference) -> dict[str, Any]:
        """Put a call on hold."""
        return self._act(call, "hold")

    def resume(self, call: CallReference) -> dict[str, Any]:
        """Take a call off hold."""
        return self._act(call, "resume")

    def hang_up(self, call: CallReference) -> dict[str, Any]:
        """End a call."""
        return self._act(call, "hang-up")

    def answer(self, call: CallReference) -> dict[str, Any]:
        """Answer a call that rings."""
        return self._act(call, "answer")

    def reject(self, call: CallReference) -> dict[str, Any]:
        """Reject a call that rings."""
        return self._act(call, "reject")

    def calls(self, **filters: str) -> list[dict[str, Any]]:
        """Return calls, oldest first; filters are `status` and `direction`."""
        return self._list_all("/calls", "calls", filters)

    def show_call(self, call: CallReference) -> dict[str, Any]:
        """Return a call with what was said, pressed and heard so far."""
        return self._object("GET", f"/calls/{_get_id(call)}")

    def voicemails(self, **filters: str) -> list[dict[str, Any]]:
        """Return the voicemails of the agent's mailboxes, oldest first; filters are `mailbox` and `unread`."""
        return self._list_all("/voicemails", "voicemails", filters)

    def read_voicemail(self, id: str) -> dict[str, Any]:
        """Return a voicemail with its text; it is then marked as read."""
        return self._object("GET", f"/voicemails/{id}")

    def mark_voicemail(self, id: str, *, read: bool = True) -> dict[str, Any]:
        """Mark a voicemail as read or unread."""
        return self._object("POST", f"/voicemails/{id}", {"read": read})

    def delete_voicemail(self, id: str) -> None:
        """Delete a voicemail."""
        self.request("DELETE", f"/voicemails/{id}")

    def register_webhook(self, url: str, events: Sequence[str] = ("call.ringing",)) -> None:
        """Have each incoming call posted to a URL, or also other events; an empty URL ends it."""
        self._json("POST", "/webhook", {"url": url, "events": list(events)})

    def _act(self, call: CallReference, verb: str, fields: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self._object("POST", f"/calls/{_get_id(call)}/{verb}", dict(fields or {}))


def _get_id(call: CallReference) -> str:
    return call if isinstance(call, str) else str(call.get("id") or call["call"])
