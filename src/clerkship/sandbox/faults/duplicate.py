"""`duplicate`: the request arrives twice."""

from typing import ClassVar

from clerkship.sandbox.faults.contract import Fault


class DuplicateFault(Fault):
    """The request arrives twice, as from a proxy that lost the first reply and retried.

    The sandbox handles it twice, a tick apart, and the agent gets the second reply. Both are logged as requests of
    the agent. The second one has the fault as its cause.
    """

    name: ClassVar[str] = "duplicate"
    repeats_request: ClassVar[bool] = True
