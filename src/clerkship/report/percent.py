"""Format shares as percentages, the same in every report."""


def percent(share: float) -> str:
    """Return a whole percentage; near 0% and 100% with one decimal, so that 9,999 of 10,000 is 99.9% and not 100%."""
    tenths = share * 1000
    if tenths < 1e-6 or tenths > 1000 - 1e-6 or 10 <= tenths <= 990:
        return f"{share:.0%}"
    return f"{min(max(round(tenths), 1), 999) / 10:g}%"
