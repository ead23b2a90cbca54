"""Subscriptions with a rest-hook: what is accepted, and who is notified of which writes."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from clerkship.events.event import render_event
from clerkship.events.lifecycle import OutboundAttempted
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import Resource, render_resource
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.handle import Refused
from clerkship.simulators.fhir import SPEC
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.handle import Fhir
from clerkship.simulators.fhir.outcome import FHIR_JSON
from clerkship.simulators.fhir.steps import FhirPut
from clerkship.simulators.fhir.subscriptions import MAX_SUBSCRIPTIONS
from tests.simulators.agent_server import AgentAnswer, AgentServer, PostedRequest
from tests.simulators.fhir.server import CHART, POTASSIUM, Server, bundle, entry, remove_elements
from tests.waiting import wait_until

RESULT = remove_elements(POTASSIUM, "id")
OTHER = {**RESULT, "code": {"text": "glucose"}}


def subscription(endpoint: str, criteria: str = "Observation?code=2823-3", **channel: Any) -> Resource:
    return {
        "resourceType": "Subscription",
        "status": "requested",
        "reason": "new results",
        "criteria": criteria,
        "channel": {"type": "rest-hook", "endpoint": endpoint, **channel},
    }


class Clinic:
    """A playground with one FHIR server, whose agent can be called."""

    def __init__(self, seed: str = "subscriptions") -> None:
        self.gateway = Gateway()
        self.pool = ListenerPool(self.gateway)
        environment = Environment(name="clinic", simulators={"ehr": Simulator(kind="fhir")})
        chart = Chart(render_resource(resource) for resource in CHART)
        prepared = PreparedSimulator(SPEC, FhirConfig(), chart)
        self.playground = Playground(environment, {"ehr": prepared}, seed)
        self.sandboxes = open_sandboxes(self.gateway, self.playground, lambda: "", self.pool)
        self.handle = self.sandboxes.get_as(Fhir)

    def pass_time(self, text: str = "10m") -> None:
        self.sandboxes.wait(text)

    @property
    def attempts(self) -> list[OutboundAttempted]:
        payloads = [event.payload for event in self.playground.log.events]
        return [payload for payload in payloads if isinstance(payload, OutboundAttempted)]

    def close(self) -> None:
        self.playground.close()
        self.gateway.remove_playground(self.playground)
        self.pool.close()


@pytest.fixture
def clinic() -> Iterator[Clinic]:
    opened = Clinic()
    yield opened
    opened.close()


@pytest.fixture
def agent() -> Iterator[AgentServer]:
    opened = AgentServer()
    yield opened
    opened.close()


def test_matching_writes_are_posted_without_a_payload(clinic: Clinic, agent: AgentServer) -> None:
    hook = subscription(f"{agent.url}/on-result", header=["Authorization: Bearer abc", "X-Office: 7"])
    stored = clinic.handle.create(hook)
    assert (stored["status"], stored["meta"]["versionId"]) == ("active", "1")
    made = clinic.handle.create(RESULT)
    clinic.handle.create(OTHER)
    clinic.handle.update({**made, "status": "amended"})
    clinic.handle.delete("Observation", made["id"])
    clinic.pass_time("1m")
    assert [(each.method, each.path, each.body) for each in agent.posted] == [("POST", "/on-result", b"")] * 2
    assert (agent.posted[0].headers["authorization"], agent.posted[0].headers["x-office"]) == ("Bearer abc", "7")
    assert [each.outcome for each in clinic.attempts] == ["delivered"] * 2
    keys = [f"{stored['id']}/Observation/{made['id']}/_history/{version}" for version in (1, 2)]
    assert [each.message for each in clinic.attempts] == keys


def test_payload_is_an_update_at_the_endpoint(clinic: Clinic, agent: AgentServer) -> None:
    clinic.handle.create(subscription(f"{agent.url}/fhir/?key=1", payload=FHIR_JSON))
    made = clinic.handle.create(RESULT)
    clinic.pass_time("1m")
    [put] = agent.posted
    assert (put.method, put.path) == ("PUT", f"/fhir/Observation/{made['id']}?key=1")
    assert put.headers["content-type"] == FHIR_JSON
    assert put.json == made


def test_writes_of_steps_and_bundles_are_notified(clinic: Clinic, agent: AgentServer) -> None:
    clinic.handle.create(subscription(agent.url, "Observation?patient.name=okafor"))
    with clinic.playground.lock:
        FhirPut.model_validate({"resource": RESULT}).run(clinic.playground)
    clinic.handle.transaction(bundle("transaction", entry("POST", "Observation", RESULT)))
    clinic.pass_time("1m")
    assert len(agent.posted) == 2


def test_off_deleted_and_ended_subscriptions_are_not_notified(clinic: Clinic, agent: AgentServer) -> None:
    over = {**subscription(f"{agent.url}/over"), "end": "2020-01-01T00:00:00Z"}
    assert clinic.handle.create(over)["status"] == "active"
    off = clinic.handle.create(subscription(f"{agent.url}/off"))
    assert clinic.handle.update({**off, "status": "off"})["status"] == "off"
    gone = clinic.handle.create(subscription(f"{agent.url}/gone"))
    clinic.handle.delete("Subscription", gone["id"])
    clinic.handle.create(RESULT)
    clinic.pass_time("1m")
    assert agent.posted == []
    again = clinic.handle.patch("Subscription", off["id"], [{"op": "replace", "path": "/status", "value": "requested"}])
    assert again["status"] == "active"
    clinic.handle.create(RESULT)
    clinic.pass_time("1m")
    assert [each.path for each in agent.posted] == ["/off"]


def test_failed_notification_is_retried_and_then_the_subscription_is_in_error(clinic: Clinic) -> None:
    fails = AgentServer(lambda _: AgentAnswer(503))
    hook = clinic.handle.create(subscription(fails.url))
    made = clinic.handle.create(RESULT)
    clinic.pass_time("5m")
    assert [each.retry_in for each in clinic.attempts] == [5.0, 10.0, 20.0, 40.0, None]
    failed = clinic.handle.read("Subscription", hook["id"])
    assert (failed["status"], failed["error"]) == (
        "error",
        f"Observation/{made['id']}/_history/1: rejected, HTTP status 503",
    )
    writer = next(event for event in clinic.playground.log.events if event.kind == "fhir.resource.updated")
    assert writer.actor == "run"
    clinic.handle.create(RESULT)
    clinic.pass_time("5m")
    assert len(fails.posted) == 5
    fails.close()
    works = AgentServer()
    again = clinic.handle.update(
        {**failed, "status": "requested", "channel": {**hook["channel"], "endpoint": works.url}}
    )
    assert (again["status"], again.get("error")) == ("active", None)
    clinic.handle.create(RESULT)
    clinic.pass_time("1m")
    assert len(works.posted) == 1
    works.close()


def test_subscription_that_is_deleted_during_a_failed_call_is_not_written_again(clinic: Clinic) -> None:
    def answer(_: PostedRequest) -> AgentAnswer:
        clinic.handle.delete("Subscription", hook["id"])
        return AgentAnswer(404)

    agent = AgentServer(answer)
    hook = clinic.handle.create(subscription(agent.url))
    clinic.handle.create(RESULT)
    clinic.pass_time("1m")
    assert len(agent.posted) == 1
    with pytest.raises(Refused, match="deleted"):
        clinic.handle.read("Subscription", hook["id"])
    assert clinic.playground.broken is None
    agent.close()


@pytest.mark.parametrize(
    ("change", "code", "element"),
    [
        *(({"channel": {"type": type}}, "not-supported", "channel.type") for type in ("websocket", "email", "sms")),
        ({"channel": {"type": "message", "endpoint": "http://127.0.0.1:9"}}, "not-supported", "channel.type"),
        ({"channel": {"type": "rest-hook"}}, "value", "channel.endpoint"),
        ({"channel": {"type": "rest-hook", "endpoint": "mailto:a@b.example"}}, "value", "channel.endpoint"),
        ({"channel": {"type": "rest-hook", "endpoint": "http://203.0.113.9/x"}}, "forbidden", "channel.endpoint"),
        ({"channel": {"type": "rest-hook", "endpoint": "http://hooks.example/x"}}, "forbidden", "channel.endpoint"),
        ({"payload": "application/fhir+xml"}, "not-supported", "channel.payload"),
        ({"header": ["Authorization Bearer"]}, "value", "channel.header"),
        ({"header": ["Host: elsewhere"]}, "value", "channel.header"),
        ({"criteria": "Observation?colour=red"}, "not-supported", "criteria"),
        ({"criteria": "Observation?date=soon"}, "value", "criteria"),
        ({"criteria": "Observation?_count=3"}, "not-supported", "criteria"),
        ({"criteria": "Results?code=1"}, "not-supported", "criteria"),
        ({"criteria": "?code=1"}, "not-supported", "criteria"),
        ({"status": "error"}, "business-rule", "status"),
    ],
)
def test_what_cannot_work_is_refused_by_name(clinic: Clinic, change: dict[str, Any], code: str, element: str) -> None:
    hook = subscription("http://127.0.0.1:9/x")
    channel = {name: change[name] for name in ("payload", "header") if name in change}
    rest = {name: value for name, value in change.items() if name not in channel}
    with pytest.raises(Refused) as refused:
        clinic.handle.create({**hook, "channel": {**hook["channel"], **channel}, **rest})
    assert refused.value.reply.status == 422
    [issue] = orjson.loads(refused.value.reply.body)["issue"]
    assert (issue["code"], issue["expression"]) == (code, [f"Subscription.{element}"])


def test_refused_transaction_leaves_no_subscription(clinic: Clinic, agent: AgentServer) -> None:
    wrong = entry("POST", "Observation", {**RESULT, "subject": {"reference": "Patient/none"}})
    with pytest.raises(Refused):
        clinic.handle.transaction(bundle("transaction", entry("POST", "Subscription", subscription(agent.url)), wrong))
    clinic.handle.create(RESULT)
    clinic.pass_time("1m")
    assert agent.posted == []


def test_active_subscriptions_are_limited_in_a_transaction_too(clinic: Clinic) -> None:
    entries = [entry("POST", "Subscription", subscription("http://127.0.0.1:9/x")) for _ in range(MAX_SUBSCRIPTIONS)]
    with pytest.raises(Refused, match="at most 100"):
        clinic.handle.transaction(bundle("transaction", *entries, entries[0]))
    clinic.handle.transaction(bundle("transaction", *entries))
    with pytest.raises(Refused, match="at most 100"):
        clinic.handle.create(subscription("http://127.0.0.1:9/x"))


def test_same_requests_give_the_same_log_and_a_replay_the_same_state() -> None:
    def run(port: int = 9) -> list[bytes]:
        clinic = Clinic()
        clinic.handle.create(subscription(f"http://127.0.0.1:{port}/x"))
        for _ in range(2):
            clinic.handle.create(RESULT)
            clinic.pass_time()
        events = [render_event(event, {}) for event in clinic.playground.log.events]
        clinic.close()
        return events

    first = run()
    assert first == run()
    assert sum(b"outbound.attempted" in event for event in first) >= 5


def test_subscription_of_the_dataset_is_kept_and_not_notified() -> None:
    server = Server(*CHART, {**subscription("http://127.0.0.1:9/x"), "id": "old", "status": "active"})
    server.send("POST", "Observation", RESULT)
    assert "fhir.subscription.triggered" not in server.kinds()
    assert server.replay_state() == server.state.dump()


def test_notification_is_sent_while_the_agent_does_something_else(clinic: Clinic) -> None:
    agent = AgentServer()
    clinic.handle.create(subscription(agent.url))
    clinic.handle.create(RESULT)
    wait_until(lambda: bool(agent.posted))
    agent.close()
