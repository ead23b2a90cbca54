"""Assumptions about the HTTP API of a real Rasa server."""

from typing import Any

import httpx
import pytest

from clerkship.kit.secrets import new_name
from tests.live.bots import Server

pytestmark = pytest.mark.live


class Conversation:
    """One conversation with a server, by HTTP requests."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.name = new_name("shape")

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> httpx.Response:
        """Send a request, with the key if there is one."""
        key = {"token": self._server.token} if self._server.token else {}
        url, wanted = f"{self._server.url}{path}", {"accept": "application/json"}
        return httpx.request(method, url, json=body, params=query | key, headers=wanted, timeout=60, trust_env=False)

    def say(self, text: str) -> list[dict[str, Any]]:
        """Return the answer of the REST channel."""
        asked = {"sender": self.name, "message": text, "metadata": {"is_simulation": True}}
        found: list[dict[str, Any]] = self.ask("POST", "/webhooks/rest/webhook", asked).raise_for_status().json()
        return found

    def events(self) -> list[dict[str, Any]]:
        """Return all events of the tracker."""
        reply = self.ask("GET", f"/conversations/{self.name}/tracker", include_events="ALL")
        found: list[dict[str, Any]] = reply.raise_for_status().json()["events"]
        return found

    def inject(self, **slots: Any) -> None:
        """Add slot events to the tracker."""
        events = [{"event": "slot", "name": name, "value": value} for name, value in slots.items()]
        self.ask("POST", f"/conversations/{self.name}/tracker/events", events).raise_for_status()


def outline(events: list[dict[str, Any]]) -> list[str]:
    """Return the types of events, with their names."""
    return [" ".join(filter(None, (event["event"], event.get("name")))) for event in events]


def test_conversation_starts_with_a_session_and_each_turn_ends_listening(desk: Server) -> None:
    line = Conversation(desk)
    said = line.say("hello")
    assert [message["text"] for message in said] == [
        "Welcome to the order desk.",
        "Hello stranger!\n\nWhat can I do for you?",
    ]
    assert outline(line.events()) == [
        "slot session_started_metadata",
        "action action_session_start",
        "bot",
        "session_started",
        "slot tier",
        "slot customer_name",
        "action action_listen",
        "user",
        "user_featurization",
        "action utter_greet",
        "bot",
        "action action_listen",
    ]


def test_session_start_message_starts_two_sessions_and_tracker_shrinks(desk: Server) -> None:
    line = Conversation(desk)
    line.say("/session_start")
    before = line.events()
    assert outline(before).count("action action_session_start") == 2
    line.inject(customer_name="Ada", nosuch="thing")
    after = line.events()
    assert outline(after).count("action action_session_start") == 1, (
        "only the last session is kept, from the next save on"
    )
    assert before[-6:] == after[:6]
    assert outline(after)[-2:] == ["slot customer_name", "slot nosuch"], "a slot the domain lacks is taken in silence"


def test_full_utterance_is_one_event_and_several_messages(desk: Server) -> None:
    line = Conversation(desk)
    said = line.say("check order A200")
    assert [sorted(message.keys() - {"recipient_id"}) for message in said[1:]] == [
        ["buttons", "text"],
        ["custom"],
        ["image"],
        ["attachment"],
        ["text"],
    ]
    bots = [event for event in line.events() if event["event"] == "bot"]
    assert bots[1]["data"] == {
        "elements": None,
        "quick_replies": None,
        "buttons": [{"title": "Never mind", "payload": "/goodbye"}],
        "attachment": "https://example.org/terms.pdf",
        "image": "https://example.org/wait.png",
        "custom": {"order": "A200", "tier": "silver"},
    }
    assert bots[2]["metadata"]["utter_action"] == "utter_order"
    assert bots[2]["metadata"]["metadata"] == {"tone": "sorry"}


def test_payload_alone_has_no_text_in_the_tracker(desk: Server) -> None:
    line = Conversation(desk)
    line.say("show me the card")
    [card] = [event for event in line.events() if event["event"] == "bot" and event["data"]["custom"]]
    assert card["text"] is None
    assert card["data"]["custom"] == {"card": "order", "price": 12.5, "lines": ["tea", "milk"]}


def test_restart_event_is_only_visible_immediately(desk: Server) -> None:
    line = Conversation(desk)
    line.say("hello")
    line.say("start over")
    assert "restart" in outline(line.events())
    line.say("hello")
    assert "restart" not in outline(line.events())


def test_silence_and_a_broken_action_are_both_an_empty_list(desk: Server) -> None:
    line = Conversation(desk)
    line.say("hello")
    assert line.say("say nothing") == []
    assert outline(line.events())[-3:] == ["action action_stay_silent", "slot is_member", "action action_listen"]
    assert line.say("break down now") == []
    assert outline(line.events())[-1] == "action action_listen"


def test_server_reports_version_status_and_domain(desk: Server) -> None:
    line = Conversation(desk)
    domain = line.ask("GET", "/domain").raise_for_status().json()
    assert domain["slots"]["tier"]["type"] == "categorical"
    assert domain["slots"]["tier"]["values"] == ["gold", "silver"]
    assert "action_look_up_order" in domain["actions"]
    assert "utter_greet" in domain["responses"]
    assert line.ask("GET", "/version").json()["version"].startswith("3.6.")
    assert "engine_version" not in line.ask("GET", "/status").json()
    assert line.ask("GET", "/flows").status_code == 404


def test_tracker_needs_a_key_and_channel_does_not(desk: Server) -> None:
    bare = Conversation(desk._replace(token=""))
    assert bare.ask("GET", "/domain").status_code == 401
    assert bare.ask("GET", f"/conversations/{bare.name}/tracker").status_code == 401
    assert bare.say("bye")[-1]["text"] == "Goodbye!"


def test_stock_bot_answers(stock: Server) -> None:
    line = Conversation(stock)
    assert [message["text"] for message in line.say("hello")] == ["Hey! How are you?"]
    assert outline(line.events()) == [
        "slot session_started_metadata",
        "action action_session_start",
        "session_started",
        "slot session_started_metadata",
        "action action_listen",
        "user",
        "user_featurization",
        "action utter_greet",
        "bot",
        "action action_listen",
    ]
