"""A published version of a benchmark, as runs record it."""

import re

from clerkship.model.frozen import Flag, Frozen, Whole

REFERENCE = re.compile(r"(?P<slug>[a-z0-9][a-z0-9-]{0,99})@(?P<version>[1-9][0-9]{0,8}|latest)")
"""How a published version is named, such as `chart@1` or `chart@latest`. The number may be a date."""
DIGEST = re.compile(r"sha256:[0-9a-f]{8,64}")
"""How a published version is named by its digest, or by the first characters of it."""
NOT_CHECKED = "not checked"
"""The signer of a version whose signature could not be checked, because the extra `sign` is not installed."""


class PublishedVersion(Frozen):
    """The name and the digest of a published version."""

    omitted_when_empty = frozenset({"signed_by"})

    slug: str
    version: Whole
    digest: str
    """The SHA-256 of its manifest, which has the SHA-256 of everything else."""
    grading: str
    """The grading version of the program that published it."""
    for_agents: Flag = False
    """Whether it has no criteria and no solutions."""
    signed_by: str = ""
    """The id of the key that signed it, `NOT_CHECKED`, or empty if it is not signed."""

    @property
    def name(self) -> str:
        """Its name, such as `chart@1`."""
        return f"{self.slug}@{self.version}"
