"""A code of a code system, as cards use it for topics and override reasons."""

from clerkship.formats.cds_hooks.wire_model import Text, WireModel


class CdsCoding(WireModel):
    """A code, the system that defines it, and a text for people."""

    code: Text
    system: Text | None = None
    display: Text | None = None
