"""The Python client of a chat sandbox."""

from typing import Any

from clerkship.sandbox.handle import Handle


class Chat(Handle):
    """Send and read messages."""

    def say(self, text: str, buttons: tuple[dict[str, Any], ...] = ()) -> list[dict[str, Any]]:
        """Send a message; return what the person said after it."""
        sent = self._json("POST", "/messages", {"text": text, "buttons": list(buttons)})
        return [message for message in self.messages(after=sent["id"]) if message["from"] != "agent"]

    def messages(self, after: int = 0) -> list[dict[str, Any]]:
        """Return all messages, or those after a message id."""
        return self._list("/messages", "messages", {"after": str(after)})

    @property
    def is_open(self) -> bool:
        """Whether a person is in the conversation."""
        return bool(self._json("GET", "/session")["open"])
