"""The handle of a fax sandbox, for Python agents: `sandboxes.get_as(Fax, "name")`."""

from clerkship.simulators.fax.handle import Fax as Fax
