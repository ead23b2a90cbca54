"""What the agent told in messages."""

from collections.abc import Iterator, Mapping

from clerkship.events.evidence import Evidence
from clerkship.model.conversation_key import normalize_address
from clerkship.sandbox.activity import Disclosure, Purpose
from clerkship.simulators.messages.assertions.logged import list_messages
from clerkship.simulators.messages.records import Channel, DeliveryStatus

PURPOSES: Mapping[Channel, Purpose] = {"sms": "reminder", "portal": "treatment"}
"""What messages are for; an e-mail may go to a patient or to another office."""
FAILED: frozenset[DeliveryStatus] = frozenset({"undelivered", "failed"})


def list_activity(evidence: Evidence, sandbox: str) -> Iterator[Disclosure]:
    """Yield each message that the agent sent, with everything that its recipients can read."""
    for message in list_messages(evidence, sandbox):
        channel = message.header.channel
        if message.is_sent:
            recipients = tuple(normalize_address(channel, address) for address in message.header.recipients)
            texts, has_failed = tuple(message.list_texts()), message.status in FAILED
            yield Disclosure(message.event, channel, recipients, texts, PURPOSES.get(channel), has_failed=has_failed)
