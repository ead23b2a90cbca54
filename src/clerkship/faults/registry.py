"""The faults there are."""

from clerkship.faults.contract import Fault
from clerkship.faults.drip import Drip
from clerkship.faults.drop import Drop
from clerkship.faults.duplicate import Duplicate
from clerkship.faults.error import Error
from clerkship.faults.expired import Expired
from clerkship.faults.latency import Latency
from clerkship.faults.truncated import Truncated

FAULTS: tuple[type[Fault], ...] = (Drip, Drop, Duplicate, Error, Expired, Latency, Truncated)
