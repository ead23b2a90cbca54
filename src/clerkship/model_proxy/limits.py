"""Limits of the agent's model calls, for each trial and for the run.

See docs/decisions/0039-limits-of-model-calls.md.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from clerkship.model.usage import NO_LIMITS, ModelLimits


@dataclass
class CallUse:
    """The model calls that were answered, and what they used."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def add(self, tokens: int, cost: float) -> None:
        """Add what a call used; the call itself was counted when it began."""
        self.tokens += tokens
        self.cost += cost


class ReachedLimit(NamedTuple):
    """Why a trial may make no more model calls."""

    code: str
    message: str
    ending: Literal["agent_failed", "cancelled", "errored"]
    """How the trial ends. It is cancelled only before its agent is started."""


class RunLimits:
    """The limits of a run, and what its calls have used. Trials may use it at the same time."""

    def __init__(self, limits: ModelLimits = NO_LIMITS, used: CallUse | None = None) -> None:
        self.limits, self.used = limits, used or CallUse()
        self.lock = threading.Lock()
        self.has_stopped_trials = False
        """Whether trials were cancelled because a limit of the run was reached."""


class TrialLimits:
    """The limits that the calls of one trial have: its own, and those of the run."""

    def __init__(self, run: RunLimits) -> None:
        self._run, self._used = run, CallUse()
        self.reached: ReachedLimit | None = None
        """Once a limit is reached, every later call is refused."""

    def begin_call(self, model: str, *, has_price: bool = True) -> ReachedLimit | None:
        """Count a call, or return why it is refused. Calls that are open count, so that there are never too many."""
        advice = "raise {option} if more is needed"
        with self._run.lock:
            self.reached = self.reached or self._check_price(model, has_price=has_price) or self._find_reached(advice)
            if self.reached is None:
                self._used.calls += 1
                self._run.used.calls += 1
        return self.reached

    def check_run(self) -> ReachedLimit | None:
        """Return the limit of the run, if it is reached before the agent of the trial is started."""
        with self._run.lock:
            reached = self._find_reached("`clerkship resume` with a higher {option} goes on")
            if reached is not None:
                self.reached = reached._replace(ending="cancelled")
                self._run.has_stopped_trials = True
        return self.reached

    def end_call(self, tokens: int | None, cost: float | None, *, is_answered: bool) -> None:
        """Add what a call has used. Calls that failed do not count. None is an unknown number."""
        with self._run.lock:
            for used in (self._used, self._run.used):
                used.calls -= not is_answered
                used.add(tokens or 0, cost or 0.0)
            option = (tokens is None and self._find_option("max_total_tokens")) or (
                cost is None and self._find_option("max_cost")
            )
            if option and self.reached is None:
                message = f"a response has no token counts, so {option} cannot be applied; run the trial without it"
                self.reached = ReachedLimit("unknown_use", message, "errored")

    def _check_price(self, model: str, *, has_price: bool) -> ReachedLimit | None:
        option = "" if has_price else self._find_option("max_cost")
        if not option:
            return None
        message = f"the price of the model `{model}` is not known, so {option} cannot be applied"
        hint = "add the model to the file that CLERKSHIP_PRICES names, or limit the calls or the tokens instead"
        return ReachedLimit("unknown_price", f"{message}; {hint}", "errored")

    def _find_option(self, name: str) -> str:
        """Return the option that sets a limit, of the trial or of the run; empty if there is none."""
        limits = self._run.limits
        return next((_to_option(each) for each in (name, f"{name}_per_trial") if getattr(limits, each)), "")

    def _find_reached(self, advice: str) -> ReachedLimit | None:
        for name, limit, used in self._list_uses():
            if not limit or used < limit:
                continue
            option, where = _to_option(name), "trial" if name.endswith("_per_trial") else "run"
            amount = f"cost ${used:.9g}" if "cost" in name else f"used {used:,} tokens"
            counted = f"the agent's model calls in this {where} have {amount}"
            if "calls" in name:
                counted = f"the agent has made {used:,} model call{'s' * (used != 1)} in this {where}"
            allowed = f"${limit:.9g}" if "cost" in name else f"{limit:,}"
            message = f"{counted}, and {option} allows no more than {allowed}; "
            return ReachedLimit(name, message + advice.format(option=option, where=where), "agent_failed")
        return None

    def _list_uses(self) -> Iterator[tuple[str, float | None, float]]:
        """Yield each limit with what was used of it; those of the trial first."""
        for used, suffix in ((self._used, "_per_trial"), (self._run.used, "")):
            uses = {"max_calls": used.calls, "max_total_tokens": used.tokens, "max_cost": used.cost}
            for name, use in uses.items():
                yield f"{name}{suffix}", getattr(self._run.limits, f"{name}{suffix}"), use


def _to_option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
