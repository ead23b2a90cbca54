"""CDS Hooks for agents, solutions and plug-ins: the handles of the sandboxes, and the description of a service."""

from clerkship.simulators.cds.handle import Cds as Cds
from clerkship.simulators.cds.handle import describe_service as describe_service
from clerkship.simulators.cds_service.handle import CdsServices as CdsServices
