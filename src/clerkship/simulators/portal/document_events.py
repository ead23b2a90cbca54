"""Events about uploaded documents."""

from typing import ClassVar

from clerkship.events.event import Payload
from clerkship.simulators.portal.records import UploadedDocument


class DocumentUploaded(Payload, kind="portal.document.uploaded"):
    """A user uploaded a document."""

    holds_body: ClassVar[bool] = True
    session: int = 0
    document: UploadedDocument
    data: bytes


class DocumentRemoved(Payload, kind="portal.document.removed"):
    """A user removed an uploaded document that was not sent yet."""

    session: int = 0
    id: str
