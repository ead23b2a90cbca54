"""The contract of a hook of phone trees and representatives."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from clerkship.formats.fhir.chart import Chart
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.voice.cases import CaseTable
from clerkship.simulators.voice.records import PhoneCall

EMPTY_CHART = Chart(())
NO_CASES = CaseTable()


class HookResult(NamedTuple):
    """What a hook found."""

    outcome: str
    values: Mapping[str, str] = {}
    """Values for the prompts and nodes that follow."""


class HookContext(NamedTuple):
    """The call in which a hook runs, and the means to change state."""

    action: ActionContext
    """`action.domain(PayerState)` returns the payer."""
    call: PhoneCall
    records: Chart = EMPTY_CHART
    """The resources of the FHIR datasets; empty if the environment has none."""
    cases: CaseTable = NO_CASES
    """The cases that were opened before."""


class Hook(NamedTuple):
    """Something that a phone tree can look up or change."""

    name: str
    """Area and verb, such as `payer.find_member`."""
    summary: str
    inputs: tuple[str, ...]
    """Names of its arguments, which must all be given."""
    outcomes: tuple[str, ...]
    outputs: tuple[str, ...]
    """Names of the values that it may return."""
    run: Callable[[HookContext, Mapping[str, str]], HookResult]
    needs: str = ""
    """The kind of domain that it asks, such as `payer`; empty if none."""
    optional: tuple[str, ...] = ()
    """Names of arguments that may be missing or empty."""
