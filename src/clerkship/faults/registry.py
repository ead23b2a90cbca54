"""The faults there are."""

from clerkship.faults.contract import Fault
from clerkship.faults.error import Error
from clerkship.faults.latency import Latency

FAULTS: tuple[type[Fault], ...] = (Error, Latency)
