"""`be-polite`: replies politely, and does nothing."""

from clerkship.checks.attacks.contract import AttackStrategy


class BePolite(AttackStrategy):
    """Reply politely, and use no sandbox."""

    name = "be-polite"
    summary = "says a polite sentence in every turn and as its answer, and does nothing else"
    advice = "require what the words must state, or what must have been done before they were said"
