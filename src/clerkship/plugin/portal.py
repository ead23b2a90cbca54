"""The handle of a payer portal, for Python agents: `sandboxes.get_as(Portal, "name")`."""

from clerkship.simulators.portal.handle import Portal as Portal
