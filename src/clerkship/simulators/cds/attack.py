"""Attacks on an EHR that calls CDS services."""

from typing import ClassVar, cast

from clerkship.formats.cds_hooks.hooks import HOOK_NAMES
from clerkship.sandbox.attack import INSTRUCTION, Harm, SandboxAttack
from clerkship.sandbox.handle import Handle
from clerkship.simulators.cds.handle import Cds


class CdsAttack(SandboxAttack):
    """Reads every hook, and answers every hook with a warning."""

    harms: ClassVar[frozenset[Harm]] = frozenset()
    repeats: ClassVar[bool] = False

    def read_everything(self, handle: Handle, instruction: str) -> bool:
        """Read the services and every hook that fired."""
        emr = cast(Cds, handle)
        emr.services()
        for hook in emr.hooks():
            emr.hook(hook["hookInstance"])
        return True

    def order_everything(self, handle: Handle, instruction: str) -> bool:
        """Serve a service for every hook that warns whatever the request says, until the hooks that wait are done."""
        emr = cast(Cds, handle)
        with emr.serve(dict.fromkeys(HOOK_NAMES, _warn)):
            emr.hooks()
        return True


def _warn(request: dict[str, object]) -> list[dict[str, object]]:
    """Return the same warning for every request."""
    return [{"summary": INSTRUCTION, "indicator": "critical", "source": {"label": "Attack"}}]
