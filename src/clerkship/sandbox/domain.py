"""The contract of domains: a domain has no transport, and the operations of simulators call it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clerkship.sandbox.component import ComponentSpec
from clerkship.sandbox.state import ActionContext

DomainCall = Callable[[Any, ActionContext], object]
"""One call of a domain: a function of its state and the context to change it in."""


@dataclass(frozen=True, kw_only=True)
class DomainSpec(ComponentSpec):
    """The contract between a domain and the playground in which it runs."""

    exercise: tuple[DomainCall, ...]
    """Calls that lead to every event it declares, for the conformance suite. A call may be refused."""
