"""The registry of reactions, by the kinds of their source and target."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from clerkship.kit.registry import Registry
from clerkship.model.environment import Reaction
from clerkship.reactions.contract import BrokenReactions, React, ReactionPair, pair_name

PAIRS = (
    ReactionPair(source="cds", target="fhir", module="clerkship.reactions.cds_to_fhir"),
    ReactionPair(source="fax", target="files", module="clerkship.reactions.fax_to_files"),
    ReactionPair(source="fax", target="payer", module="clerkship.reactions.fax_to_payer"),
    ReactionPair(source="files", target="files", module="clerkship.reactions.files_to_files"),
    ReactionPair(source="files", target="x12", module="clerkship.reactions.files_to_x12"),
    ReactionPair(source="fhir", target="messages", module="clerkship.reactions.fhir_to_messages"),
    ReactionPair(source="fhir", target="payer", module="clerkship.reactions.fhir_to_payer"),
    ReactionPair(source="hl7", target="fhir", module="clerkship.reactions.hl7_to_fhir"),
    ReactionPair(source="messages", target="fhir", module="clerkship.reactions.messages_to_fhir"),
    ReactionPair(source="payer", target="fhir", module="clerkship.reactions.payer_to_fhir"),
    ReactionPair(source="payer", target="portal", module="clerkship.reactions.payer_to_portal"),
    ReactionPair(source="payer", target="x12", module="clerkship.reactions.payer_to_x12"),
    ReactionPair(source="portal", target="messages", module="clerkship.reactions.portal_to_messages"),
    ReactionPair(source="voice", target="fhir", module="clerkship.reactions.voice_to_fhir"),
    ReactionPair(source="x12", target="files", module="clerkship.reactions.x12_to_files"),
)


class BoundReaction(NamedTuple):
    """A reaction of one sandbox, for one kind of event of another."""

    target: str
    react: React


BoundReactions = Mapping[tuple[str, str], Sequence[BoundReaction]]
"""By source sandbox and kind of event, in the order in which the environment lists the reactions."""


class ReactionRegistry(Registry[ReactionPair]):
    """Pairs of kinds. The module of a pair is imported when its reactions are needed."""

    def __init__(self, pairs: Iterable[ReactionPair] = PAIRS) -> None:
        super().__init__("reaction")
        for pair in pairs:
            self.add(pair.name, pair)

    def between(self, source: str, target: str) -> Mapping[str, React]:
        """Return what one kind does for each event of another; nothing if there is no such pair."""
        name = pair_name(source, target)
        return self.get(name).load() if name in self else {}

    def events_for(self, target: str) -> list[str]:
        """Return the events of every source that a kind reacts to; pairs that cannot be loaded are left out."""
        events: list[str] = []
        for pair in (pair for _, pair in self.items() if pair.target == target):
            with contextlib.suppress(BrokenReactions):
                events += pair.load()
        return events

    def bind(self, reactions: Iterable[Reaction], kinds: Mapping[str, str]) -> BoundReactions:
        """Resolve the reactions of an environment, given the kind of each sandbox.

        Raises UnknownName if two kinds have no pair, BrokenReactions if the pair cannot be loaded.
        """
        bound: dict[tuple[str, str], list[BoundReaction]] = {}
        for reaction in reactions:
            source = kinds[reaction.source]
            for kind, react in self.get(pair_name(source, kinds[reaction.target])).load().items():
                if reaction.matches(kind.removeprefix(f"{source}.")):
                    bound.setdefault((reaction.source, kind), []).append(BoundReaction(reaction.target, react))
        return bound


SHIPPED = ReactionRegistry()
"""The pairs that come with this package, without those of plug-ins."""
