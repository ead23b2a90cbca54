"""What the simulated clinician does with a card."""

from collections.abc import Iterable
from typing import NamedTuple

from clerkship.formats.cds_hooks.card import Card
from clerkship.formats.cds_hooks.coding import CdsCoding
from clerkship.model.pattern import has_match_in_time
from clerkship.simulators.cds.config import CardDecision
from clerkship.simulators.cds.records import ServiceCall


class ChosenOutcome(NamedTuple):
    """The outcome of a card."""

    accepted: tuple[int, ...] = ()
    """The numbers of the accepted suggestions."""
    is_overridden: bool = False
    reason: CdsCoding | None = None
    comment: str | None = None


def decide(card: Card, call: ServiceCall, decisions: Iterable[CardDecision]) -> ChosenOutcome:
    """Return what the first decision that fits a card does with it. A card that none fits is ignored."""
    decision = next((each for each in decisions if _fits(each, card, call)), None)
    if decision is None or decision.do == "ignore":
        return ChosenOutcome()
    if decision.do == "accept":
        return ChosenOutcome(accepted=_choose(card, decision))
    reason = next((each for each in card.override_reasons if each.code == decision.reason), None)
    if reason is None and decision.reason is not None:  # an EHR may have reasons of its own
        reason = CdsCoding(code=decision.reason)
    return ChosenOutcome(is_overridden=True, reason=reason, comment=decision.comment)


def _fits(decision: CardDecision, card: Card, call: ServiceCall) -> bool:
    return (
        decision.hook in (None, call.hook)
        and decision.service in (None, call.service.id)
        and decision.indicator in (None, card.indicator)
        and (decision.summary is None or has_match_in_time(decision.summary, card.summary))
    )


def _choose(card: Card, decision: CardDecision) -> tuple[int, ...]:
    """Return the numbers of the suggestions to accept; at most one unless the card allows more."""
    numbers = range(len(card.suggestions))
    if decision.label is not None:
        chosen = [n for n in numbers if has_match_in_time(decision.label, card.suggestions[n].label)]
    elif decision.choose == "recommended":
        chosen = [n for n in numbers if card.suggestions[n].is_recommended] or list(numbers[:1])
    else:
        chosen = list(numbers if decision.choose == "all" else numbers[:1])
    return tuple(chosen if card.selection_behavior == "any" else chosen[:1])
