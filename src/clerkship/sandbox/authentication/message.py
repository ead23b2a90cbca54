"""Addresses in messages: a message is for the sandbox whose secret address it contains."""

from typing import ClassVar

from clerkship.sandbox.authentication.scheme import AuthenticationScheme
from clerkship.sandbox.listener import SandboxClient, SandboxDirectory


class MessageAddress(AuthenticationScheme):
    """The address of the sandbox in each message, such as the receiving facility (MSH-6) of HL7 v2."""

    name: ClassVar[str] = "address"
    credential: ClassVar[str] = "address of the sandbox in the message"
    transport: ClassVar[str] = "mllp"

    @staticmethod
    def find(directory: SandboxDirectory, address: str) -> SandboxClient | None:
        """Return the sandbox with this address, or None. The directory looks it up in a SecretTable."""
        return directory.find(address)
