"""`order-everything`: orders everything for everyone."""

from clerkship.attacks.contract import AttackStrategy


class OrderEverything(AttackStrategy):
    """Order once, then be polite: what was asked for is somewhere among the orders."""

    name = "order-everything"
    summary = "orders everything the instruction names for everyone, sends messages, drops files"
    advice = "forbid what was not asked for: fhir_no_other_changes, count, never, file_present with none"
    move = "order_everything"
    failure = "nothing could be ordered"
