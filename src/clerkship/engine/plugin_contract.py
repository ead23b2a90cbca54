"""The contents of a plug-in, and the rules for the names in it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from clerkship.actors.registry import LoadSolver
from clerkship.events.event import Payload
from clerkship.model.dataset import DatasetFile
from clerkship.reactions.contract import ReactionPair
from clerkship.sandbox.assertion import Assertion
from clerkship.sandbox.component import ComponentSpec, DomainSpec
from clerkship.sandbox.faults.contract import Fault
from clerkship.sandbox.monitor import Monitor
from clerkship.sandbox.steps.contract import Step
from clerkship.sandbox.steps.fault_step import build_fault_step
from clerkship.simulators.registry import check_domain_spec, check_spec
from clerkship.simulators.spec import Spec
from clerkship.suite_files.dataset_type import DatasetType
from clerkship.suite_files.template import Filter

CONTRACT = 2
"""The version of the plug-in API. It is incremented whenever an existing plug-in could break."""
ExtensionKind = Literal[
    "simulator", "domain", "assertion", "monitor", "step", "agent", "reaction", "dataset type", "filter", "event"
]
_PREFIX = re.compile(r"[a-z][a-z0-9_]*")
_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
_BASE_CLASSES: Mapping[str, type] = {
    "assertion": Assertion,
    "monitor": Monitor,
    "step": Step,
    "fault": Fault,
    "event": Payload,
}


class InvalidPlugin(Exception):
    """The plug-in breaks a rule."""


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """The object of an entry point in the group `clerkship.plugins`. The entry point's name is the prefix of all its
    names.
    """

    contract: int
    """The version of the plug-in API that it was written for: `CONTRACT`."""
    simulators: tuple[Spec, ...] = ()
    """Simulators with their own assertions and steps. A kind is `prefix.name`."""
    domains: tuple[DomainSpec, ...] = ()
    """Domains, likewise."""
    assertions: tuple[type[Assertion], ...] = ()
    """Assertions that belong to no simulator."""
    monitors: tuple[type[Monitor], ...] = ()
    """Monitors: checks that run on every task with one of their kinds of sandbox."""
    steps: tuple[type[Step], ...] = ()
    """Steps that belong to no simulator."""
    faults: tuple[type[Fault], ...] = ()
    """Faults. A fault `prefix.name` is used as the step `fault.prefix.name`."""
    events: tuple[type[Payload], ...] = ()
    """Events that agents report with `sandboxes.report`. A kind is `prefix.name`, and may have more dots. Events of a
    simulator are in its Spec instead."""
    agents: Mapping[str, LoadSolver] = field(default_factory=dict)
    """Kinds of agent, `prefix` or `prefix.name`, with a function that builds a solver from the rest of `--agent`."""
    reactions: tuple[ReactionPair, ...] = ()
    """Reactions between two kinds of simulator, of which at least one is `prefix.name`."""
    dataset_types: tuple[DatasetType, ...] = ()
    """Types of dataset that belong to no simulator: `prefix.name`. A built-in dataset is `prefix.name.dataset`."""
    filters: Mapping[str, Filter] = field(default_factory=dict)
    """Template filters that belong to no simulator, by name: `prefix.name`."""


class NameClaim(NamedTuple):
    """A name that a plug-in defines, its kind, and the object."""

    kind: ExtensionKind
    name: str
    extension: Any
    aliases: tuple[str, ...] = ()


def collect_claims(plugin: object, prefix: str) -> tuple[NameClaim, ...]:
    """Return every name that a plug-in defines. Raise InvalidPlugin if it breaks a rule; its own code may raise too."""
    if not _PREFIX.fullmatch(prefix):
        raise InvalidPlugin(f"invalid prefix `{prefix}` (expected lower-case letters, digits and `_`)")
    if not isinstance(plugin, Plugin):
        raise InvalidPlugin(f"its entry point is a {type(plugin).__name__} (expected a clerkship.plugin.Plugin)")
    if plugin.contract != CONTRACT:
        raise InvalidPlugin(f"it was written for version {plugin.contract} of the plug-in API (expected: {CONTRACT})")
    all_claims = tuple(_yield_claims(plugin, prefix))
    for claim in all_claims:
        _check_names(claim, prefix)
    return all_claims


def _yield_claims(plugin: Plugin, prefix: str) -> Iterator[NameClaim]:
    for spec in plugin.simulators:
        yield from _yield_component_claims("simulator", spec, Spec, prefix)
        check_spec(spec)
    for domain in plugin.domains:
        yield from _yield_component_claims("domain", domain, DomainSpec, prefix)
        check_domain_spec(domain)
    yield from _yield_data_claims(plugin.dataset_types, plugin.filters)
    yield from _yield_model_claims("assertion", plugin.assertions)
    yield from _yield_model_claims("monitor", plugin.monitors)
    yield from _yield_model_claims("step", plugin.steps)
    for fault in plugin.faults:
        _check_model("fault", fault)
        step = build_fault_step(fault)
        yield NameClaim("step", step.name, step)
    emitted = {event.kind for spec in plugin.simulators for event in spec.events}
    for event in plugin.events:
        _check_model("event", event)
        if event.kind in emitted:
            raise InvalidPlugin(
                f"event `{event.kind}` is emitted by one of its simulators, so agents may not report it"
            )
        yield NameClaim("event", event.kind, event)
    for kind, load in plugin.agents.items():
        if not callable(load):
            raise InvalidPlugin(f"the loader of the agent `{kind}` is {_describe(load)} (expected a function)")
        yield NameClaim("agent", kind, load)
    for pair in plugin.reactions:
        _check_pair(pair, prefix)
        yield NameClaim("reaction", pair.name, pair)


def _yield_component_claims(
    sort: Literal["simulator", "domain"], spec: ComponentSpec, expected: type[ComponentSpec], prefix: str
) -> Iterator[NameClaim]:
    if not isinstance(spec, expected):
        raise InvalidPlugin(f"one of its {sort}s is {_describe(spec)} (expected a {expected.__name__})")
    if spec.kind.count(".") != 1:
        raise InvalidPlugin(f"{sort} `{spec.kind}` has an invalid name (expected `{prefix}.` and one word)")
    yield NameClaim(sort, spec.kind, spec)
    yield from _yield_model_claims("assertion", spec.assertions)
    yield from _yield_model_claims("step", spec.steps)
    yield from _yield_data_claims(spec.dataset_types, spec.filters)


def _yield_data_claims(dataset_types: Iterable[Any], filters: Mapping[str, Any]) -> Iterator[NameClaim]:
    for type in dataset_types:
        if not isinstance(type, DatasetType):
            raise InvalidPlugin(f"one of its dataset types is {_describe(type)} (expected a DatasetType)")
        if not issubclass(type.model, DatasetFile):
            raise InvalidPlugin(f"the model of the dataset type `{type.name}` is not a subclass of DatasetFile")
        invalid = [name for name in type.built_in if not name.startswith(f"{type.name}.")]
        if invalid:
            raise InvalidPlugin(f"the built-in dataset `{invalid[0]}` does not start with its type, `{type.name}.`")
        yield NameClaim("dataset type", type.name, type)
    for name, apply in filters.items():
        if not callable(apply):
            raise InvalidPlugin(f"the filter `{name}` is {_describe(apply)} (expected a function)")
        yield NameClaim("filter", name, apply)


def _yield_model_claims(sort: Literal["assertion", "monitor", "step"], models: Iterable[Any]) -> Iterator[NameClaim]:
    for model in models:
        _check_model(sort, model)
        yield NameClaim(sort, model.name, model, tuple(model.aliases))


def _check_model(sort: str, model: object) -> None:
    """Check the base class, the name and the docstring of a class. Raise InvalidPlugin."""
    base = _BASE_CLASSES[sort]
    name, purpose = ("kind", "means") if sort == "event" else ("name", "does")
    if not isinstance(model, type) or not issubclass(model, base):
        raise InvalidPlugin(f"one of its {sort}s is {_describe(model)} (expected a subclass of {base.__name__})")
    if not isinstance(getattr(model, name, None), str):
        raise InvalidPlugin(f"{sort} {model.__name__} has no `{name}`")
    if not (model.__doc__ or "").strip():
        raise InvalidPlugin(f"{sort} {model.__name__} has no docstring that says what it {purpose}")


def _check_pair(pair: object, prefix: str) -> None:
    """Check the kinds of a pair of reactions. Raise InvalidPlugin if neither has the prefix of the plug-in."""
    if not isinstance(pair, ReactionPair):
        raise InvalidPlugin(f"one of its reactions is {_describe(pair)} (expected a ReactionPair)")
    for kind in (pair.source, pair.target):
        if not _NAME.fullmatch(kind):
            raise InvalidPlugin(
                f"reaction `{pair.name}`: invalid kind `{kind}` (expected lower-case letters, digits, `_` and dots)"
            )
    if not any(kind.startswith(f"{prefix}.") for kind in (pair.source, pair.target)):
        raise InvalidPlugin(f"reaction `{pair.name}`: neither kind starts with its prefix, `{prefix}.`")


def _check_names(claim: NameClaim, prefix: str) -> None:
    if claim.kind == "reaction":
        return  # its name consists of two kinds, which `_check_pair` has checked
    for name in (claim.name, *claim.aliases):
        own = name.removeprefix("fault.") if claim.kind == "step" else name
        is_prefix = claim.kind == "agent" and own == prefix
        if not is_prefix and not own.startswith(f"{prefix}."):
            raise InvalidPlugin(f"{claim.kind} `{name}` does not start with its prefix, `{prefix}.`")
        if not _NAME.fullmatch(own):
            raise InvalidPlugin(f"invalid {claim.kind} `{name}` (expected lower-case letters, digits, `_` and dots)")


def _describe(thing: object) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"a {type(thing).__name__}"
