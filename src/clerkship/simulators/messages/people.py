"""The conversations with simulated people, by the address at which each of them is reached."""

from collections.abc import Iterable

from clerkship.events.event import Event
from clerkship.model.conversation_key import normalize_address
from clerkship.simulators.messages.records import Channel, ConversationRecord


class ConversationTable:
    """The last conversation at each address."""

    def __init__(self) -> None:
        self.by_address: dict[tuple[Channel, str], ConversationRecord] = {}
        """Channel and normalized address -> the conversation there, open or not."""

    def find(self, channel: Channel, address: str) -> ConversationRecord | None:
        """Return the conversation at an address, open or not."""
        return self.by_address.get((channel, normalize_address(channel, address)))

    def find_open(self, channel: Channel, address: str) -> ConversationRecord | None:
        """Return the open conversation at an address."""
        conversation = self.find(channel, address)
        return conversation if conversation is not None and conversation.is_open else None

    def current_turn(self, channel: Channel, addresses: Iterable[str]) -> int:
        """Return the turn of the open conversations at some addresses; 0 if there is none."""
        found = (self.find_open(channel, address) for address in addresses)
        return max((conversation.turns for conversation in found if conversation is not None), default=0)

    def start(self, person: str, channel: Channel, address: str) -> None:
        """Start a conversation."""
        key = (channel, normalize_address(channel, address))
        self.by_address[key] = ConversationRecord(person, channel, address)

    def end(self, channel: Channel, address: str) -> None:
        """End the conversation at an address."""
        self.by_address[channel, normalize_address(channel, address)].is_open = False

    def add(self, event: Event, channel: Channel, addresses: Iterable[str], turn: int) -> None:
        """Add a message to the open conversations at some addresses."""
        for address in dict.fromkeys(addresses):
            conversation = self.find_open(channel, address)
            if conversation is not None:
                conversation.messages.append(event)
                conversation.turns = max(conversation.turns, turn)
