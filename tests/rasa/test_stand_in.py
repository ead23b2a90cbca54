"""The stand-in Rasa server of the examples, over HTTP."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from clerkship.suite_files.yaml import parse_yaml
from examples.order_support.rasa_server import RasaServer, serve

SECRET = "a secret of ours, long enough"


@pytest.fixture
def rasa() -> Iterator[RasaServer]:
    """A server without simulated failures."""
    with serve() as server:
        yield server


def ask(server: RasaServer, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
    return httpx.request(
        method, server.url + path, json=body, headers=headers, timeout=20, verify=False, trust_env=False
    )


def say(server: RasaServer, text: str, sender: str = "ada", **extra: Any) -> list[dict[str, Any]]:
    """Return the answer of the REST channel."""
    reply = ask(server, "POST", "/webhooks/rest/webhook", {"sender": sender, "message": text, **extra})
    assert reply.status_code == 200, reply.text
    found: list[dict[str, Any]] = reply.json()
    return found


def tracker(server: RasaServer, sender: str = "ada", query: str = "include_events=ALL") -> dict[str, Any]:
    """Return the whole tracker."""
    found: dict[str, Any] = ask(server, "GET", f"/conversations/{sender}/tracker?{query}").raise_for_status().json()
    return found


def outline(events: list[dict[str, Any]]) -> list[str]:
    """Return the types of events, with their names."""
    return [" ".join(filter(None, (event["event"], event.get("name") or event.get("flow_id")))) for event in events]


def slots(**values: Any) -> list[dict[str, Any]]:
    """Return slots as events."""
    return [{"event": "slot", "name": name, "value": value} for name, value in values.items()]


def test_new_conversation_starts_with_a_session_and_listens_after_each_turn(rasa: RasaServer) -> None:
    assert [message["text"] for message in say(rasa, "hello")] == [
        "Hello, this is the order desk.",
        "I can check, track, change or cancel an order.",
    ], "a blank line parts messages"
    found = tracker(rasa)
    session = ["action action_session_start", "session_started", "action action_listen"]
    assert outline(found["events"]) == [*session, "user", "action utter_greet", "bot", "action action_listen"]
    assert found["sender_id"] == "ada"
    assert found["latest_action_name"] == "action_listen"
    assert found["latest_message"]["text"] == "hello"
    times = [event["timestamp"] for event in found["events"]]
    assert times == sorted(set(times))


def test_user_and_bot_events_have_the_fields_of_rasa(rasa: RasaServer) -> None:
    say(rasa, "hello", metadata={"is_simulation": True})
    user = next(event for event in tracker(rasa)["events"] if event["event"] == "user")
    assert user["metadata"]["is_simulation"] is True
    assert user["parse_data"].keys() >= {"intent", "entities", "text", "message_id", "metadata", "commands"}
    assert user["input_channel"] == "rest"
    bot = tracker(rasa)["events"][-2]
    assert bot["text"].count("\n\n") == 1, "one event, however the channel parts it"
    assert bot["data"] == dict.fromkeys(("elements", "quick_replies", "buttons", "attachment", "image", "custom"))
    assert bot["metadata"]["utter_action"] == "utter_greet"
    assert bot["metadata"]["utter_source"] == "TemplatedNaturalLanguageGenerator"


def test_slots_are_set_after_an_explicit_session_start(rasa: RasaServer) -> None:
    assert say(rasa, "/session_start") == []
    assert outline(tracker(rasa)["events"]).count("session_started") == 2, "one for a new name, one for the message"
    given = slots(authenticated=True, account_id="12345", order_id="ORD-9981")
    after = ask(rasa, "POST", "/conversations/ada/tracker/events?include_events=ALL", given).raise_for_status().json()
    assert outline(after["events"]) == [
        "action action_session_start",
        "session_started",
        "action action_listen",
        "slot authenticated",
        "slot account_id",
        "slot order_id",
    ]
    assert after["slots"]["order_id"] == "ORD-9981"
    assert after["slots"]["transfer_amount"] is None, "every slot of the domain is there"
    assert say(rasa, "status?")[0]["text"] == "I am sorry, order ORD-9981 is delayed."
    assert tracker(rasa)["slots"]["order_status"] == "delayed"


def test_events_of_a_flow_are_in_order(rasa: RasaServer) -> None:
    ask(rasa, "POST", "/conversations/ada/tracker/events", slots(authenticated=True, account_id="12345"))
    say(rasa, "I need another address on ORD-1155")
    say(rasa, "Can I return it?")
    before = len(tracker(rasa)["events"])
    say(rasa, "never mind")
    events = tracker(rasa)["events"]
    assert outline(events[before:]) == [
        "user",
        "flow_cancelled change_address",
        "action utter_flow_cancelled",
        "bot",
        "action action_listen",
    ]
    assert events[before + 1]["step_id"] == "ask_new_address"
    assert {"flow_interrupted change_address", "flow_resumed change_address"} <= set(outline(events))
    article = next(event for event in events if event["metadata"].get("utter_source") == "EnterpriseSearchPolicy")
    assert article["metadata"]["search_results"] == [article["text"]]


def test_clarification_has_flow_names_and_buttons(rasa: RasaServer) -> None:
    [message] = say(rasa, "Where is it?")
    assert [button["payload"] for button in message["buttons"]] == [
        "/start_flow(check_order_status)",
        "/start_flow(track_shipment)",
    ]
    [started] = [row for row in tracker(rasa)["events"] if row.get("flow_id") and row["event"] == "flow_started"]
    assert started["flow_id"] == "pattern_clarification"
    assert started["metadata"]["clarification_ids"] == ["check_order_status", "track_shipment"]
    assert started["metadata"]["names"] == ["check an order", "track a parcel"]


def test_payload_is_a_separate_message_but_one_event(rasa: RasaServer) -> None:
    given = slots(authenticated=True, account_id="12345", order_id="ORD-7702")
    ask(rasa, "POST", "/conversations/ada/tracker/events", given)
    text, payload = say(rasa, "track it")
    assert text == {"recipient_id": "ada", "text": "Your bookshelf is in Hanover."}
    assert payload["custom"]["type"] == "map"
    [bot] = [event for event in tracker(rasa)["events"] if event["event"] == "bot"]
    assert bot["text"] == text["text"]
    assert bot["data"]["custom"] == payload["custom"]


def test_invalid_events_are_rejected_and_single_event_is_accepted(rasa: RasaServer) -> None:
    path = "/conversations/ada/tracker/events"
    for nothing in ([], {}, [{"event": "nonsense"}], {"event": "slot"}, "slot"):
        refused = ask(rasa, "POST", path, nothing)
        assert (refused.status_code, refused.json()["reason"]) == (400, "BadRequest")
    assert ask(rasa, "POST", path, [{"event": "nonsense"}, *slots(order_id="ORD-1")]).status_code == 200
    assert outline(tracker(rasa)["events"])[0] == "action action_session_start", "a new name gets a session first"


def test_include_events_controls_the_tracker(rasa: RasaServer) -> None:
    say(rasa, "hello")
    ask(rasa, "POST", "/conversations/ada/tracker/events", {"event": "restart"})
    say(rasa, "hello")
    assert tracker(rasa, query="include_events=NONE")["events"] is None
    assert "restart" in outline(tracker(rasa)["events"])
    assert outline(tracker(rasa, query="")["events"])[0] == "user", "after the restart alone, unless asked"
    first = tracker(rasa)["events"][0]["timestamp"]
    assert len(tracker(rasa, query=f"include_events=ALL&until={first!r}")["events"]) == 1
    assert tracker(rasa, "bob", "start_session=false")["events"] == []
    assert ask(rasa, "GET", "/conversations/ada/tracker?include_events=SOME").status_code == 400
    assert ask(rasa, "DELETE", "/conversations/ada/tracker").status_code == 204
    assert "user" not in outline(tracker(rasa)["events"])


def test_stand_in_reports_version_status_and_domain(rasa: RasaServer) -> None:
    assert ask(rasa, "GET", "/webhooks/rest/").json() == {"status": "ok"}
    assert ask(rasa, "GET", "/").text.startswith("Hello from Rasa")
    assert ask(rasa, "GET", "/version").json().keys() == {"version", "minimum_compatible_version"}
    assert ask(rasa, "GET", "/status").json().keys() >= {"model_file", "model_id", "num_active_training_jobs"}
    domain = ask(rasa, "GET", "/domain", accept="application/json").json()
    assert domain["slots"]["authenticated"]["type"] == "bool"
    assert "action_check_order_status" in domain["actions"]
    written = ask(rasa, "GET", "/domain", accept="application/x-yaml").text
    assert parse_yaml(written, "domain").data == domain
    flows = {flow["id"]: flow for flow in ask(rasa, "GET", "/flows").json()}
    assert flows["verify_identity"]["steps"][0]["collect"] == "account_id"
    assert ask(rasa, "GET", "/nowhere").status_code == 404


def signed(secret: str = SECRET, algorithm: str = "HS256", **user: str) -> dict[str, str]:
    """Return a header with a JWT."""

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    said = ".".join(part(json.dumps(piece).encode()) for piece in ({"alg": algorithm}, {"user": user}))
    digest = hmac.digest(secret.encode(), said.encode(), hashlib.sha256)
    return {"Authorization": f"Bearer {said}.{part(digest)}"}


def test_api_needs_token_or_jwt_and_channel_does_not() -> None:
    with serve(token="sesame", jwt_secret=SECRET) as rasa:
        say(rasa, "hello")
        path = "/conversations/ada/tracker"
        admin, own = signed(username="root", role="admin"), signed(username="ada", role="user")
        assert ask(rasa, "GET", f"{path}?token=sesame").status_code == 200
        assert ask(rasa, "GET", path, None, **admin).status_code == 200
        assert ask(rasa, "GET", path, None, **own).status_code == 200
        assert ask(rasa, "GET", "/domain", None, **own).status_code == 403
        assert ask(rasa, "GET", path, None, **signed(username="bob", role="user")).status_code == 403
        others = (
            signed("wrong", role="admin"),
            signed(algorithm="none", role="admin"),
            {"Authorization": "Bearer x.y"},
        )
        for headers in ({}, *others):
            refused = ask(rasa, "GET", path, None, **headers)
            assert (refused.status_code, refused.json()["reason"]) == (401, "NotAuthenticated")
        assert ask(rasa, "GET", f"{path}?token=wrong").status_code == 401
        assert ask(rasa, "GET", "/version").status_code == 200


def test_stream_has_one_line_per_message(rasa: RasaServer) -> None:
    reply = ask(rasa, "POST", "/webhooks/rest/webhook?stream=true", {"sender": "ada", "message": "hello"})
    assert [json.loads(line)["recipient_id"] for line in reply.text.splitlines()] == ["ada", "ada"]


def test_conversations_are_isolated_and_turns_serialized(rasa: RasaServer) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: say(rasa, "hello", f"c{number % 4}"), range(40)))
    for number in range(4):
        found = outline(tracker(rasa, f"c{number}")["events"])
        assert found[3:] == ["user", "action utter_greet", "bot", "action action_listen"] * 10


def test_stand_in_can_simulate_failures(rasa: RasaServer) -> None:
    rasa.trouble = "crash"
    assert say(rasa, "hello") == []
    assert "bot" not in outline(tracker(rasa)["events"])
    rasa.trouble = "empty"
    assert say(rasa, "hello") == []
    rasa.trouble = "no_events"
    assert "events" not in tracker(rasa)
    rasa.trouble = "no_model"
    assert ask(rasa, "GET", "/domain").status_code == 409
    rasa.trouble = "html"
    assert ask(rasa, "GET", "/version").headers["content-type"] == "text/html"
    rasa.trouble = "hang_up"
    with pytest.raises(httpx.RemoteProtocolError):
        say(rasa, "hello", "bob")
    rasa.trouble, rasa.delay = "slow", 60
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(
            f"{rasa.url}/webhooks/rest/webhook", json={"message": "hi"}, timeout=0.1, verify=False, trust_env=False
        )
    rasa.trouble = ""
    assert "bot" in outline(tracker(rasa, "bob")["events"]), "it was heard although nobody was told"
    assert ask(rasa, "POST", "/webhooks/rest/webhook", {"sender": "ada"}).status_code == 400
