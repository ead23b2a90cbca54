"""All built-in faults."""

from clerkship.faults.contract import Fault
from clerkship.faults.drip import DripFault
from clerkship.faults.drop import DropFault
from clerkship.faults.duplicate import DuplicateFault
from clerkship.faults.error import ErrorFault
from clerkship.faults.expired import ExpiredFault
from clerkship.faults.latency import LatencyFault
from clerkship.faults.truncated import TruncatedFault

FAULTS: tuple[type[Fault], ...] = (
    DripFault,
    DropFault,
    DuplicateFault,
    ErrorFault,
    ExpiredFault,
    LatencyFault,
    TruncatedFault,
)
