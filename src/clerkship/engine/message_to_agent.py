"""A message of a person in the form that an agent gets."""

from collections.abc import Mapping
from copy import deepcopy

from pydantic import JsonValue

from clerkship.actors.contract import Message
from clerkship.events.event import Utterance
from clerkship.model.conversation_key import parse_key


def build_message(
    utterance: Utterance, key: str, task_item: Mapping[str, JsonValue] | None, slots: Mapping[str, JsonValue]
) -> Message:
    """Build the message for an agent. Its metadata is a copy, which the agent may change."""
    sandbox, channel, address = parse_key(key)
    return Message(
        utterance.text,
        utterance.turn,
        sandbox,
        task_item,
        deepcopy(utterance.metadata),
        slots,
        channel,
        address,
        utterance.subject,
    )
