"""Describe the usage of models: tokens by role, and the cost of a verdict if it is known."""

import math
from collections.abc import Mapping

from clerkship.model.usage import NO_USAGE, RetryReason, Role, Usage

ROLES: dict[Role, str] = {
    "agent": "agent",
    "judge": "judge",
    "metrics": "ratings",
    "person": "person",
    "person_check": "check of the person",
    "draft": "drafts",
}


def dollars(amount: float) -> str:
    """Format an amount with two significant digits: a verdict costs tenths of a cent."""
    if amount == 0 or amount >= 1:
        return f"${amount:,.2f}"
    places = next((n for n in range(2, 9) if round(amount, n) * 10 ** (n - 1) >= 1), 9)
    return f"${amount:.{places}f}"


def render_usage(usage: Usage) -> str:
    """Return `24 questions, 30,112 tokens in, 2,100 out, $0.074, 2 sent again (1 timeout, 1 invalid answer)`."""
    cost = "cost not known" if usage.cost is None else dollars(usage.cost)
    questions = f"{usage.calls:,} question{'s' * (usage.calls != 1)}"
    again = f", {render_retries(usage.retries)}" if usage.retries else ""
    return f"{questions}, {usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out, {cost}{again}"


def render_retries(retries: Mapping[RetryReason, int]) -> str:
    """Return `3 sent again (2 timeouts, 1 invalid answer)`."""
    ordered = sorted(retries.items(), key=lambda item: (-item[1], item[0]))
    reasons = ", ".join(f"{count:,} {reason}{'s' * (count != 1)}" for reason, count in ordered)
    return f"{sum(retries.values()):,} sent again ({reasons})"


def count_retries(used: Mapping[Role, Usage]) -> int:
    """Return how many requests were sent again, in all roles."""
    return sum(sum(usage.retries.values()) for usage in used.values())


def per_verdict(used: Mapping[Role, Usage], verdicts: int) -> float | None:
    """Return the cost of one verdict in dollars; None if it is not known."""
    usage = used.get("judge", NO_USAGE)
    return usage.cost / verdicts if usage.calls and verdicts and usage.cost is not None else None


def asked(used: Mapping[Role, Usage]) -> dict[Role, Usage]:
    """Return the roles in which a model was used, in a fixed order."""
    return {role: used[role] for role in ROLES if role in used and (used[role].calls or used[role].retries)}


def total_cost(used: Mapping[Role, Usage]) -> float | None:
    """Return the cost of all roles in dollars; None if no model was used, or if one cost is not known.

    An agent whose cost is not known is left out: most endpoints do not report it.
    """
    costs = [usage.cost for role, usage in asked(used).items() if role != "agent" or usage.cost is not None]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if costs and len(known) == len(costs) else None


def render_used(used: Mapping[Role, Usage], verdicts: int, *, as_recorded: bool = False) -> str:
    """Return the usage of all roles in a line; empty if no model was used. A replay shows that of the recording."""
    price = per_verdict(used, verdicts)
    each = f", {dollars(price)} per verdict" if price is not None else ""
    roles, cost = asked(used), total_cost(used)
    total = [f"total {dollars(cost)}"] if len(roles) > 1 and cost is not None else []
    lines = [f"{ROLES[role]}: {render_usage(usage)}{each if role == 'judge' else ''}" for role, usage in roles.items()]
    summary = " · ".join([*lines, *total])
    return f"{summary} (from the recording; a replay asks no model)" if summary and as_recorded else summary
