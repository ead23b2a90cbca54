"""What the attack agents do in a chat sandbox."""

from typing import cast

from clerkship.sandbox.attack import SandboxAttack
from clerkship.sandbox.handle import Handle
from clerkship.simulators.chat.handle import Chat


class ChatAttack(SandboxAttack):
    """Reads and sends messages."""

    def read_everything(self, handle: Handle, instruction: str) -> bool:
        cast(Chat, handle).messages()
        return True

    def say(self, handle: Handle, text: str) -> bool:
        """Send a message."""
        cast(Chat, handle).say(text)
        return True
