"""Capabilities of a Rasa server, and the errors if it cannot be asked."""

import socket
from typing import Any

import pytest

from clerkship.actors.contract import SolverWithCapabilities
from clerkship.events.agent import AGENT_EVENTS
from clerkship.model.agent_domain import AgentCapabilities
from clerkship.model.errors import InputError
from clerkship.rasa.agent import load_rasa
from clerkship.settings import Settings
from tests.actors.servers import Answered, Asked
from tests.rasa.servers import Override, SmallRasa, reply

DOMAIN = {
    "slots": {"tier": {"type": "categorical"}, "n": {"type": "float"}, "odd": {}, "own": {"type": "a.B"}},
    "actions": ["action_pay", {"action_look": {"send_domain": True}}],
    "forms": {"order_form": {}},
    "responses": {"utter_hi": [{"text": "hi"}]},
}


def always(data: Any, status: int = 200) -> Override:
    return lambda asked: reply(data, status)


def ask(settings: Settings | None = None, **others: Any) -> AgentCapabilities:
    """Fetch the capabilities of a server with these answers."""
    answers: dict[str, Any] = {
        "version": {"version": "3.6.21"},
        "status": {"model_file": "m"},
        "domain": DOMAIN,
    } | others
    answers = {name: one if callable(one) else always(one) for name, one in answers.items()}
    with SmallRasa(**answers).served() as served:
        solver = load_rasa(served.url, settings or Settings())
        assert isinstance(solver, SolverWithCapabilities)
        return solver.capabilities()


def test_open_source_server_reports_slots_and_actions() -> None:
    found = ask()
    assert found.engine == "Rasa 3.6.21 (open source)"
    assert found.domain is not None
    assert found.domain.slots == {"tier": "categorical", "n": "float", "odd": "any", "own": "a.B"}
    assert found.domain.responses == frozenset({"utter_hi"})
    assert found.domain.actions is not None
    assert found.domain.actions >= {"action_pay", "action_look", "order_form", "utter_hi", "action_listen"}
    assert found.domain.flows is None
    assert found.emits == frozenset({"agent.action.executed", "agent.slot.set", "agent.noted"})


@pytest.mark.parametrize("flows", [[{"id": "a", "steps": []}, {"id": "b"}, 5], {"flows": {"a": {}, "b": {}}}])
def test_calm_server_reports_flows_and_tools(flows: Any) -> None:
    found = ask(version={"version": "3.17.2"}, flows=flows)
    assert found.engine == "Rasa 3.17.2 (calm)"
    assert found.domain is not None
    assert found.domain.flows == frozenset({"a", "b"})
    assert found.domain.actions is not None
    assert found.domain.actions >= {"action_pay", "utter_hi"}
    assert found.emits is not None
    missing = {kind.kind for kind in AGENT_EVENTS} - found.emits
    assert {kind.split(".")[1] for kind in missing} == {"skill", "block", "memory"}


def test_mantle_server_reports_skills() -> None:
    found = ask(version={"version": "3.21.0"}, status={"engine_version": "mantle"}, flows=[], domain=always(b"", 404))
    assert found.engine == "Rasa 3.21.0 (mantle)"
    assert found.domain is None
    assert found.emits is not None
    missing = {kind.kind for kind in AGENT_EVENTS} - found.emits
    assert {kind.split(".")[1] for kind in missing} == {"flow", "clarification", "slot"}


def _redirects(asked: Asked) -> Answered:
    return 301, {"Location": f"https://elsewhere{asked.path}"}, b""


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"version": always(b"<html>nginx</html>")}, "with JSON: '<html>nginx</html>'; is it a Rasa server?"),
        ({"version": {"hello": 1}}, "does not report its Rasa version"),
        ({"version": [1]}, "with something other than a map"),
        ({"version": lambda asked: None}, "closed the connection at /version"),
        ({"status": always({}, 401)}, "requires authentication (401 at /status); set CLERKSHIP_RASA_TOKEN"),
        ({"status": always({}, 403)}, "denies access (403 at /status); the JWT must be that of an admin"),
        ({"status": always({}, 409)}, "has no model loaded (409 at /status); train a model"),
        ({"status": always(b"busy", 409)}, "has no model loaded (409 at /status): 'busy'; train a model"),
        ({"domain": always({}, 404)}, "has no such endpoint (404 at /domain); start it with `rasa run --enable-api`"),
        ({"domain": _redirects}, "redirects (301) /domain to https://elsewhere/domain"),
        ({"flows": always(b"no", 500)}, "answered /flows with status 500: 'no'"),
    ],
)
def test_failed_request_is_reported_with_a_hint(others: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        ask(**others)
    assert words in str(caught.value)


def test_credentials_are_redacted_in_errors() -> None:
    settings = Settings(rasa_token="hush&more")
    with pytest.raises(InputError) as caught:
        ask(settings, status=_redirects)
    assert "token=[key]" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_unreachable_server_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(InputError, match=f"127.0.0.1:{port} cannot be reached: .*; is the server running there"):
        load_rasa(f"http://127.0.0.1:{port}", Settings()).capabilities()


def test_too_large_domain_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.rasa.capabilities.MAX_RESPONSE_BYTES", 1000)
    with pytest.raises(InputError, match="/domain with more than 1,000 bytes"):
        ask(domain=always(b"{" * 5_000_000))
