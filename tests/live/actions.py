"""The custom actions of the order desk, over Rasa's action server API: `{next_action, …}` in, `{events, responses}`
out.
"""

import json
from typing import Any

from tests.actors.servers import Answered, Asked

_LISTEN = {"event": "action", "name": "action_listen"}


def _slot(name: str, value: Any) -> dict[str, Any]:
    return {"event": "slot", "name": name, "value": value}


def _session_start(slots: dict[str, Any]) -> dict[str, Any]:
    """Greet, and set the tier to silver; another tier must be set afterwards."""
    events = [{"event": "session_started"}, _slot("tier", "silver"), _slot("customer_name", "stranger"), _LISTEN]
    return {"events": events, "responses": [{"response": "utter_welcome"}]}


def _look_up_order(slots: dict[str, Any]) -> dict[str, Any]:
    """Return one response with everything that an utterance can have."""
    said = {
        "text": "One moment.",
        "buttons": [{"title": "Never mind", "payload": "/goodbye"}],
        "custom": {"order": slots.get("order_id"), "tier": slots.get("tier")},
        "image": "https://example.org/wait.png",
        "attachment": "https://example.org/terms.pdf",
    }
    return {"events": [_slot("points", 12.5), _slot("basket", ["tea", "milk"])], "responses": [said]}


def _stay_silent(slots: dict[str, Any]) -> dict[str, Any]:
    return {"events": [_slot("is_member", False)], "responses": []}


_ACTIONS = {
    "action_session_start": _session_start,
    "action_look_up_order": _look_up_order,
    "action_stay_silent": _stay_silent,
}


def act(asked: Asked) -> Answered:
    """Run one action. An unknown one fails, as `action_break_down` is supposed to."""
    message = json.loads(asked.body)
    action = _ACTIONS.get(message["next_action"])
    if action is None:
        return 500, {}, b"this action is broken"
    done = action(message["tracker"]["slots"])
    return 200, {"Content-Type": "application/json"}, json.dumps(done).encode()
