"""The handle of a files sandbox, for Python agents: `sandboxes.get_as(Files, "name")`."""

from clerkship.simulators.files.handle import Files as Files
