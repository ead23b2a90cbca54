"""Ask a Rasa server about its assistant: engine, slots, actions, responses and flows."""

from collections.abc import Mapping
from typing import Any

import orjson

from clerkship.events import agent
from clerkship.kit.http_body import ResponseTooLarge
from clerkship.kit.http_client import fetch
from clerkship.model.agent_domain import AgentCapabilities, AgentDomain
from clerkship.model.errors import InputError
from clerkship.rasa.names import BUILT_IN_ACTIONS
from clerkship.rasa.server import API_HINT, HINTS, RasaServer, describe_refusal

REQUEST_TIMEOUT = 30.0
MAX_RESPONSE_BYTES = 32_000_000
_FLOW_EVENTS = frozenset(
    kind.kind for kind in agent.AGENT_EVENTS if kind.kind.startswith(("agent.flow.", "agent.clarification."))
)
_SKILL_EVENTS = frozenset(
    kind.kind for kind in agent.AGENT_EVENTS if kind.kind.startswith(("agent.skill.", "agent.block.", "agent.memory."))
)
_ALL_EVENTS = frozenset(kind.kind for kind in agent.AGENT_EVENTS)
OPEN_SOURCE_EVENTS = _ALL_EVENTS - _FLOW_EVENTS - _SKILL_EVENTS - {agent.ToolExecuted.kind, agent.ToolCallRejected.kind}
CALM_EVENTS = _ALL_EVENTS - _SKILL_EVENTS
MANTLE_EVENTS = _ALL_EVENTS - _FLOW_EVENTS - {agent.SlotSet.kind}


def fetch_capabilities(server: RasaServer) -> AgentCapabilities:
    """Return what the server reports. Raise InputError, with a hint, if it cannot be asked."""
    version = _get_map(server, "/version").get("version")
    if not isinstance(version, str):
        raise InputError.of(f"{server.host} does not report its Rasa version", hint="is it a Rasa server?")
    engine = str(_get_map(server, "/status").get("engine_version") or "")
    if "mantle" in engine.lower():
        return AgentCapabilities(
            engine=f"Rasa {version[:40]} (mantle)", emits=MANTLE_EVENTS
        )  # it has neither slots nor flows
    domain, flows = _get_map(server, "/domain"), _get_flows(server)
    open_source = flows is None
    return AgentCapabilities(
        engine=f"Rasa {version[:40]} ({'open source' if open_source else 'calm'})",
        domain=parse_domain(domain, f"{server.name}/domain", flows),
        emits=OPEN_SOURCE_EVENTS if open_source else CALM_EVENTS,
    )


def parse_domain(domain: Mapping[str, Any], source: str, flows: frozenset[str] | None) -> AgentDomain:
    """Return the names in a domain, with those that every assistant has."""
    responses = frozenset(_names(domain.get("responses")))
    declared = frozenset((*_names(domain.get("actions")), *_names(domain.get("forms"))))
    return AgentDomain(
        source=source,
        slots={name: _type(slot) for name, slot in _pairs(domain.get("slots"))},
        actions=declared | responses | BUILT_IN_ACTIONS,
        responses=responses,
        flows=flows,
    )


def _pairs(value: Any) -> list[tuple[str, Any]]:
    return [(name, item) for name, item in value.items() if isinstance(name, str)] if isinstance(value, dict) else []


def _names(value: Any) -> list[str]:
    """Return the keys of a map; of a list, its texts and the keys of its maps."""
    if isinstance(value, dict):
        return [name for name, _ in _pairs(value)]
    if not isinstance(value, list):
        return []
    return [name for item in value for name in ([item] if isinstance(item, str) else _names(item))]


def _type(slot: Any) -> str:
    name = slot.get("type") if isinstance(slot, dict) else None
    return name if isinstance(name, str) else "any"


def _get_flows(server: RasaServer) -> frozenset[str] | None:
    """Return the ids of the assistant's flows; None if the server has no flows."""
    status, location, data = _get(server, "/flows")
    if status in (404, 405):
        return None
    flows = _parse_response(server, "/flows", status, location, data)
    if isinstance(flows, dict):
        flows = flows.get("flows", flows)
    if isinstance(flows, dict):
        return frozenset(name for name, _ in _pairs(flows))
    ids = [item.get("id") for item in flows if isinstance(item, dict)] if isinstance(flows, list) else []
    return frozenset(name for name in ids if isinstance(name, str))


def _get_map(server: RasaServer, path: str) -> dict[str, Any]:
    status, location, data = _get(server, path)
    response = _parse_response(server, path, status, location, data)
    if not isinstance(response, dict):
        raise InputError.of(
            f"{server.host} answered {path} with something other than a map: {server.shown(data)}", hint=API_HINT
        )
    return response


def _get(server: RasaServer, path: str) -> tuple[int, str, bytes]:
    import httpx  # noqa: PLC0415  (most agents need no HTTP)

    try:
        response, data = fetch(server.url(path), server.headers, MAX_RESPONSE_BYTES, REQUEST_TIMEOUT)
    except ResponseTooLarge:
        raise InputError.of(
            f"{server.host} answered {path} with more than {MAX_RESPONSE_BYTES:,} bytes", hint=API_HINT
        ) from None
    except httpx.TimeoutException:
        raise InputError.of(f"{server.host} does not answer {path} in time", hint="is the server busy?") from None
    except httpx.ConnectError as error:
        words = server.redacted(str(error))
        raise InputError.of(f"{server.host} cannot be reached: {words}", hint="is the server running there?") from None
    except httpx.HTTPError as error:
        words = server.redacted(str(error)) or type(error).__name__
        raise InputError.of(
            f"{server.host} closed the connection at {path}: {words}", hint="is it a Rasa server?"
        ) from None
    return response.status_code, response.headers.get("location", ""), data


def _parse_response(server: RasaServer, path: str, status: int, location: str, data: bytes) -> Any:
    problem = describe_refusal(server, path, status, location, data)
    if problem:
        raise InputError.of(problem, hint=HINTS.get(status, ""))
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        words = f"{server.host} did not answer {path} with JSON: {server.shown(data)}"
        raise InputError.of(words, hint="is it a Rasa server?") from None
