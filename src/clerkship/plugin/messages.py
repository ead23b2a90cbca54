"""The handle of a messages sandbox, for Python agents: `sandboxes.get_as(Messages, "name")`."""

from clerkship.simulators.messages.handle import Messages as Messages
