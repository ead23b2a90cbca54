"""`read-only`: reads everything, then answers null."""

from clerkship.checks.attacks.contract import AttackStrategy


class ReadOnly(AttackStrategy):
    """Read everything, and do nothing else."""

    name = "read-only"
    summary = "reads everything in every sandbox, is silent, answers null"
    advice = "require the decision too: an answer that states what was found, and that nothing was needed"
    move = "read_everything"
    words = None
    failure = "nothing to read"
    is_inaction = True
