"""`duplicate`: something on the way retries."""

from typing import ClassVar

from clerkship.faults.contract import Fault


class DuplicateFault(Fault):
    """The request arrives twice, as from a proxy that lost the first answer and tried again: the sandbox does it
    twice, a tick apart, and the agent gets the second answer. Both are in the log as the agent's; the second has the
    fault as its cause."""

    name: ClassVar[str] = "duplicate"
    repeats_request: ClassVar[bool] = True
