"""The handle of a chat sandbox, for Python agents: `sandboxes.get_as(Chat, "name")`."""

from clerkship.simulators.chat.handle import Chat as Chat
