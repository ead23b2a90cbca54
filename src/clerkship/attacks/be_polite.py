"""`be-polite`: says a polite sentence, and does nothing."""

from clerkship.attacks.contract import AttackStrategy


class BePolite(AttackStrategy):
    """Speak, and leave every sandbox alone."""

    name = "be-polite"
    summary = "says a polite sentence in every turn and as its answer, and does nothing else"
    advice = "require what the words must state, or what must have been done before they were said"
