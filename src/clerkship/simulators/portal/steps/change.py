"""`portal.change`: change the payer portal while the agent works."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from clerkship.sandbox.steps.contract import StepHost
from clerkship.simulators.portal.config import PortalLayout
from clerkship.simulators.portal.events import AnnouncementPublished, SiteChanged
from clerkship.simulators.portal.records import Announcement
from clerkship.simulators.portal.steps.portal_step import PortalStep


class ChangePortal(PortalStep):
    """Change the layout or the version of the payer portal, publish an announcement, or show a maintenance banner.
    Sessions, drafts and letters stay.
    """

    name: ClassVar[str] = "portal.change"
    layout: Annotated[PortalLayout | None, Field(description="the new layout")] = None
    version: Annotated[Literal[1, 2] | None, Field(description="the new version of labels and order")] = None
    maintenance: Annotated[str | None, Field(description="text of the banner; an empty text removes it")] = None
    announcement: Annotated[str | None, Field(min_length=1, description="text of a new announcement")] = None

    @model_validator(mode="after")
    def _check_changes(self) -> Self:
        if not self.model_dump(exclude={"sandbox"}, exclude_none=True):
            raise ValueError("nothing to change: expected one of layout, version, maintenance, announcement")
        return self

    def run(self, host: StepHost) -> None:
        """Make the changes."""
        action = self.open_desk(host).action
        if (self.layout, self.version, self.maintenance) != (None, None, None):
            action.emit(SiteChanged(version=self.version, layout=self.layout, maintenance=self.maintenance))
        if self.announcement is not None:
            new = Announcement(id=action.ids.new("news"), published=action.now, text=self.announcement)
            action.emit(AnnouncementPublished(announcement=new))
