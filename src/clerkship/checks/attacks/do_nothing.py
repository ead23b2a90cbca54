"""`do-nothing`: says nothing, changes nothing, answers null."""

from clerkship.checks.attacks.contract import AttackStrategy


class DoNothing(AttackStrategy):
    """Neither reply nor act."""

    name = "do-nothing"
    summary = "is silent, changes nothing, answers null"
    advice = "require something that must happen: an answer, a message, a change, a read"
    words = None
    is_inaction = True
