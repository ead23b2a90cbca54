"""A chat as an agent written in Python holds it."""

from typing import Any

from clerkship.sandbox.handle import Handle


class Chat(Handle):
    """Say something, read what was said."""

    def say(self, text: str, buttons: tuple[dict[str, Any], ...] = ()) -> list[dict[str, Any]]:
        """Send a message; returns what the person said after it."""
        sent = self._json("POST", "/messages", {"text": text, "buttons": list(buttons)})
        return [message for message in self.messages(after=sent["id"]) if message["from"] != "agent"]

    def messages(self, after: int = 0) -> list[dict[str, Any]]:
        """What was said, all or after a message."""
        found: list[dict[str, Any]] = self._json("GET", "/messages", query={"after": str(after)})["messages"]
        return found

    @property
    def is_open(self) -> bool:
        """Whether somebody is there."""
        return bool(self._json("GET", "/session")["open"])
