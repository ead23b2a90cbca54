"""The pages about assertions, steps, events, simulators and domains."""

from collections.abc import Collection
from typing import Any

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.event import MAX_BODY, MAX_INLINE_BODY, MAX_TOTAL_BODIES
from clerkship.events.sidecar import MAX_UNAUTHENTICATED
from clerkship.model.environment import RESERVED_NAMES, RESERVED_SOURCES
from clerkship.sandbox.assertion import Difference, Engine
from clerkship.sandbox.component import DomainSpec
from clerkship.sandbox.faults.registry import PROFILES, find_chaos_profile
from clerkship.sandbox.monitor import Monitor
from clerkship.sandbox.route import Route
from clerkship.simulators.spec import Spec
from scripts.reference.examples import show_example
from scripts.reference.render import AUTHENTICATION, render_page
from scripts.reference.tables import (
    code_list,
    describe_members,
    describe_model,
    describe_nested_models,
    docstring,
    first_sentence,
    rows,
)

_ORIGINS: dict[str, tuple[Engine, ...]] = {
    "scenario files": ("calm", "mantle"),
    "scenario files of agents with flows": ("calm",),
    "scenario files of agents with skills": ("mantle",),
    "Clerkship only": (),
}
_BODY_TYPES: dict[type, str] = {bytes: "bytes", str: "text"}


def assertions_page(catalog: RegisteredCatalog) -> str:
    """Return the page of assertions."""
    sections = "\n".join(
        f"## {name}\n\n{docstring(model)}\n\n{_aliases(model.aliases)}{_shorthand(model.shorthand)}"
        f"{show_example('assertions', name)}\n{describe_model(model)}{describe_nested_models(model)}"
        for name, model in catalog.assertions.items()
    )
    origins = rows(
        (origin, ", ".join(f"`{name}`" for name, check in catalog.assertions.items() if check.engines == engines))
        for origin, engines in _ORIGINS.items()
    )
    return render_page(
        "assertions.md",
        sections=sections,
        origins=origins,
        differences=_differences(catalog),
        unscoped=_unscoped(catalog),
    )


def _unscoped(catalog: RegisteredCatalog) -> str:
    """Return the assertions that no record can limit, by reason."""
    names: dict[str, list[str]] = {}
    for name, check in catalog.assertions.items():
        if not check.scoped:
            names.setdefault(check.unscoped_reason, []).append(f"`{name}`")
    return rows((", ".join(assertions), reason) for reason, assertions in names.items())


def _differences(catalog: RegisteredCatalog) -> str:
    names: dict[Difference, list[str]] = {}
    for name, check in catalog.assertions.items():
        for difference in check.differences:
            names.setdefault(difference, []).append(f"`{name}`")
    return rows(
        (", ".join(assertions), difference.topic, difference.ours, difference.rasa)
        for difference, assertions in names.items()
    )


def _aliases(names: Collection[str]) -> str:
    return f"Also called {', '.join(f'`{name}`' for name in names)}.\n\n" if names else ""


def _shorthand(field: str | None) -> str:
    return f"A bare value stands for `{field}`.\n\n" if field else ""


def steps_page(catalog: RegisteredCatalog) -> str:
    """Return the page of steps and chaos profiles."""
    sections = "\n".join(
        f"## {name}\n\n{docstring(model)}\n\n{_aliases(model.aliases)}"
        f"{show_example('steps', name)}\n{describe_model(model)}{describe_nested_models(model)}"
        for name, model in catalog.steps.items()
    )
    chaos = rows(
        (f"`{name}`", "<br>".join(f"`{call.name}: {_flow_style(call.args)}`" for call in find_chaos_profile(name)))
        for name in PROFILES
    )
    return render_page("steps.md", sections=sections, chaos=chaos)


def monitors_page(catalog: RegisteredCatalog) -> str:
    """Return the page of monitors."""
    sections = "\n".join(
        f"## {name}\n\n{docstring(model)}\n\nAxis: `{model.axis}`. Looks at: "
        f"{', '.join(f'`{kind}`' for kind in sorted(model.kinds)) or 'every kind but `chat`'}.\n\n"
        f"{_describe_options(model)}"
        for name, model in catalog.monitors.items()
    )
    return render_page("monitors.md", sections=sections)


def _describe_options(model: type[Monitor]) -> str:
    """Return the options that only this monitor has."""
    return describe_model(model) if set(model.model_fields) - set(Monitor.model_fields) else ""


def _flow_style(arguments: Any) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in (arguments or {}).items()) + "}"


def events_page(catalog: RegisteredCatalog) -> str:
    """Return the page of event kinds."""
    events = rows(
        (f"`{kind}`", first_sentence(model), ", ".join(f"`{name}`" for name in model.model_fields))
        for kind, model in sorted(catalog.events.items())
    )
    return render_page(
        "events.md",
        events=events,
        MAX_BODIES=MAX_TOTAL_BODIES,
        MAX_BODY=MAX_BODY,
        MAX_INLINE_BODY=MAX_INLINE_BODY,
        MAX_UNAUTHENTICATED=MAX_UNAUTHENTICATED,
    )


def simulators_page(catalog: RegisteredCatalog) -> str:
    """Return the page of simulators."""
    sections = "\n".join(_simulator(spec, catalog.reacts_to(kind)) for kind, spec in catalog.simulators.items())
    return render_page("simulators.md", sections=sections, AUTHENTICATION=AUTHENTICATION)


def _simulator(spec: Spec, reacts_to: Collection[str]) -> str:
    routes = rows(
        (f"`{route.method} {route.path}`", f"`{route.operation.name}`", _describe_route(route)) for route in spec.routes
    )
    members = rows((f"`{name}`", text) for name, text in describe_members(spec.handle))
    config = describe_model(spec.config) if spec.config.model_fields else "It has no config.\n"
    dataset = f"It is loaded from datasets of type `{spec.dataset}`." if spec.dataset else "It has no datasets."
    reactions = f" It reacts to {', '.join(f'`{kind}`' for kind in reacts_to)} of other sandboxes." if reacts_to else ""
    return f"""## {spec.kind}

{spec.summary} {dataset}{reactions}

{show_example("simulators", spec.kind)}
| request | operation | |
|---|---|---|
{routes}

Other paths are refused with 404, other methods with 405, requests without a valid credential with 401.

{_authentication(spec)}

| in Python | |
|---|---|
{members}

Config:

{config}"""


def _authentication(spec: Spec) -> str:
    schemes = ", ".join(f"{scheme.credential} ({scheme.transport or 'HTTP'})" for scheme in spec.authentication)
    names = ", ".join(f"`{route.method} {route.path}`" for route in spec.routes if route.operation.access == "open")
    origins = "none" if spec.cors is None else ", ".join(f"`{origin}`" for origin in spec.cors.origins)
    return f"Credentials: {schemes}. Open without a credential: {names or 'nothing'}. CORS origins: {origins}."


def _describe_route(route: Route) -> str:
    fields = route.operation.schema.get("properties", {})
    query = [f"`?{name}=`: {fields[name].get('description', name)}" for name in route.query]
    query += [f"`?…`: {fields[route.free_query].get('description', '')}"] if route.free_query else []
    body = [f"body: {_BODY_TYPES.get(route.body_type, 'JSON')}"] if route.body else []
    body += [f"body: {route.media or 'JSON'}"] if route.json_fields else []
    details = f" ({'; '.join(query + body)})" if query or body else ""
    return " ".join(route.operation.description.split()).replace("|", "\\|") + details


def domains_page(catalog: RegisteredCatalog) -> str:
    """Return the page of domains."""
    domains = "\n".join(_domain(spec) for _, spec in catalog.domains.items())
    return render_page(
        "domains.md", reserved=code_list(RESERVED_NAMES | RESERVED_SOURCES), domains=domains or "None yet."
    )


def _domain(spec: DomainSpec) -> str:
    config = describe_model(spec.config) if spec.config.model_fields else "It has no config.\n"
    dataset = f"It is loaded from datasets of type `{spec.dataset}`." if spec.dataset else "It has no datasets."
    config += describe_nested_models(spec.config)
    return f"### {spec.kind}\n\n{spec.summary} {dataset}\n\nConfig:\n\n{config}"
