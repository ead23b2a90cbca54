"""What the steps of a payer portal have in common."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.formats.fhir.names import PATIENT
from clerkship.model.errors import InputError
from clerkship.payer.answer import Member
from clerkship.payer.name_sorts import MEMBER_ID, PAYER
from clerkship.payer.scenario_changes import select_member
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.portal.desk import Desk
from clerkship.simulators.portal.state import PortalState


class PortalStep(Step):
    """A step of a payer portal."""

    simulator: ClassVar[str | None] = "portal"
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    def open_desk(self, host: StepHost, username: str | None = None) -> Desk:
        """Return the portal as a user has it; by default the agent's. Raises InputError if there is no such user."""
        state, action = host.state(PortalState, self.sandbox)
        user = state.config.find_user(username or state.config.user.username)
        if username not in (None, user.username):
            raise InputError.of(f"{self.name}: the payer portal has no user {username}", hint="add it to `colleagues`")
        return Desk(state, action, user)


class PortalMemberStep(PortalStep):
    """A step that may be about a member."""

    member_id: Annotated[str | None, MEMBER_ID, Field(description="id of the member")] = None
    patient: Annotated[
        str | None, PATIENT, Field(description="the member, as patient of the chart, such as Patient/pat-0013")
    ] = None
    payer: Annotated[
        str | None, PAYER, Field(description="number of the payer; by default that of the member, or the only one")
    ] = None

    @property
    def has_member(self) -> bool:
        """Whether the step names a member."""
        return self.member_id is not None or self.patient is not None

    def find_member(self, desk: Desk) -> Member | None:
        """Return the member, if one is named; raise InputError if there is not exactly one, or not on this portal."""
        if not self.has_member:
            return None
        member = select_member(desk.records, self.payer, self.member_id, self.patient)
        self._check_payer(desk, member.payer_id)
        return member

    def find_payer(self, desk: Desk, member: Member | None) -> str:
        """Return the number of the payer; empty if none is named and the portal has several."""
        payer_id = member.payer_id if member is not None else self.payer or ""
        if payer_id:
            self._check_payer(desk, payer_id)
        return payer_id or (desk.payer_ids[0] if len(desk.payer_ids) == 1 else "")

    def _check_payer(self, desk: Desk, payer_id: str) -> None:
        if payer_id not in desk.payer_ids:
            listed = ", ".join(desk.payer_ids)
            raise InputError.of(f"{self.name}: {payer_id} is no payer of this payer portal", hint=f"it has {listed}")
