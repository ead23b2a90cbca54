"""`portal.inbox`: let a letter arrive."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.model.errors import InputError
from clerkship.sandbox.steps.contract import StepHost
from clerkship.simulators.portal.letters import deliver_letter
from clerkship.simulators.portal.steps.portal_step import PortalMemberStep


class PutLetter(PortalMemberStep):
    """Let a letter of a payer arrive in the inbox of the payer portal."""

    name: ClassVar[str] = "portal.inbox"
    subject: Annotated[str, Field(min_length=1, max_length=120, description="its subject")]
    text: Annotated[str, Field(min_length=1, description="its text; an empty line starts a paragraph")]
    reference: Annotated[str, Field(max_length=50, description="the request or claim that it is about")] = ""

    def run(self, host: StepHost) -> None:
        """Let the letter arrive."""
        desk = self.open_desk(host)
        member = self.find_member(desk)
        payer_id = self.find_payer(desk, member)
        if not payer_id:
            raise InputError.of(f"{self.name}: the letter has no sender", hint="add `payer`")
        paragraphs = [" ".join(each.split()) for each in self.text.split("\n\n")]
        deliver_letter(desk, payer_id, self.subject, [each for each in paragraphs if each], self.reference, member)
