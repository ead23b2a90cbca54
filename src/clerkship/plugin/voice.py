"""The handle of a phone sandbox, for Python agents: `sandboxes.get_as(Voice, "name")`."""

from clerkship.simulators.voice.handle import Voice as Voice
