"""`order-everything`: orders everything for every patient."""

from clerkship.checks.attacks.contract import AttackStrategy


class OrderEverything(AttackStrategy):
    """Order everything once, then reply politely: the requested order is among them."""

    name = "order-everything"
    summary = "orders everything the instruction names for everyone, sends messages, drops files"
    advice = "forbid what was not asked for: fhir_no_other_changes, count, never, file_present with none"
    move = "order_everything"
    failure = "nothing could be ordered"
