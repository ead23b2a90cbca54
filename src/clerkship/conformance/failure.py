"""How a check fails."""


class NotConforming(AssertionError):
    """A simulator does not do what every simulator must."""


def must(holds: bool, otherwise: str) -> None:
    """Raise NotConforming if something does not hold."""
    if not holds:
        raise NotConforming(otherwise)
