"""The webhook of a telephone: the agent is called for calls that ring, and for other events if it asks."""

from collections.abc import Iterator
from typing import Any

import pytest

from clerkship.events.lifecycle import OutboundAttempted
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground, SavedLog
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.handle import Refused
from clerkship.simulators.voice import SPEC
from clerkship.simulators.voice.config import MailboxConfig, VoiceConfig
from clerkship.simulators.voice.handle import Voice
from clerkship.simulators.voice.state import VoiceState
from clerkship.simulators.voice.steps.call import CallAgent
from clerkship.transports.outbound import event_webhook
from tests.simulators.agent_server import AgentAnswer, AgentServer, PostedRequest

OWN, ANA = "+15550100100", "+15550100001"


class Switchboard:
    """A playground with one telephone, in process and over HTTP."""

    def __init__(self, **options: Any) -> None:
        config = VoiceConfig(mailboxes=(MailboxConfig(name="main", number=OWN),), **options)
        self.gateway = Gateway()
        self.pool = ListenerPool(self.gateway)
        self.http = open_http(self.gateway)
        environment = Environment(name="office", simulators={"phone": Simulator(kind="voice")})
        prepared = PreparedSimulator(SPEC, config, SPEC.prepare(()))
        self.playground = Playground(environment, {"phone": prepared}, "voice")
        self.sandboxes = open_sandboxes(self.gateway, self.playground, self.http.url, self.pool)
        self.handle = self.sandboxes.get_as(Voice, "phone")

    @property
    def state(self) -> VoiceState:
        state = self.playground.sandboxes["phone"].state
        assert isinstance(state, VoiceState)
        return state

    def ring(self, **fields: Any) -> str:
        with self.playground.lock:
            CallAgent.model_validate({"from": ANA, "says": ["Hello."]} | fields).run(self.playground)
        return list(self.state.calls.by_id)[-1]

    def pass_time(self, text: str = "5m") -> None:
        self.sandboxes.wait(text)

    @property
    def attempts(self) -> list[OutboundAttempted]:
        payloads = [event.payload for event in self.playground.log.events]
        return [payload for payload in payloads if isinstance(payload, OutboundAttempted)]

    def close(self) -> None:
        self.playground.close()
        self.gateway.remove_playground(self.playground)
        self.pool.close()
        self.http.close()


@pytest.fixture
def office() -> Iterator[Switchboard]:
    opened = Switchboard()
    yield opened
    opened.close()


@pytest.fixture
def agent() -> Iterator[AgentServer]:
    opened = AgentServer()
    yield opened
    opened.close()


def test_a_call_that_rings_is_posted(office: Switchboard, agent: AgentServer) -> None:
    office.handle.register_webhook(f"{agent.url}/rings?key=s3cret")
    call = office.ring(voicemail="Call me.")
    office.pass_time()
    assert [(each.path, each.json) for each in agent.posted] == [
        ("/rings?key=s3cret", {"event": "call.ringing", "call": call, "from": ANA, "to": OWN})
    ]
    assert b"s3cret" not in b"".join(office.playground.log.lines)


def test_an_agent_answers_the_call_while_it_is_told_of_it(office: Switchboard) -> None:
    def answer(posted: PostedRequest) -> AgentAnswer:
        office.handle.answer(posted.json["call"])
        return AgentAnswer()

    agent = AgentServer(answer)
    office.handle.register_webhook(agent.url)
    call = office.ring()
    office.pass_time("1s")
    agent.close()
    assert office.state.find_call(call).status == "connected"
    assert office.handle.listen(call) == "Hello."


def test_other_events_are_posted_if_the_agent_asks(office: Switchboard, agent: AgentServer) -> None:
    office.handle.register_webhook(agent.url, ["voicemail.received", "call.ended"])
    call = office.ring(voicemail="Call me.")
    office.pass_time()
    told = {each.json["event"]: each.json for each in agent.posted}
    assert list(told) == ["voicemail.received", "call.ended"]
    assert told["voicemail.received"]["voicemail"]["from"] == ANA
    assert (told["call.ended"]["call"], told["call.ended"]["outcome"]) == (call, "no_answer")


def test_the_webhook_of_the_config_is_called(agent: AgentServer) -> None:
    office = Switchboard(webhook=f"{agent.url}/config")
    office.ring()
    office.pass_time()
    office.close()
    assert [each.path for each in agent.posted] == ["/config"]


def test_a_removed_webhook_is_not_called(office: Switchboard, agent: AgentServer) -> None:
    office.handle.register_webhook(agent.url)
    office.handle.register_webhook("")
    office.ring()
    office.pass_time()
    assert not agent.posted


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:1", "not a url", "ftp://127.0.0.1/"])
def test_an_address_that_is_no_url_is_refused(office: Switchboard, url: str) -> None:
    with pytest.raises(Refused, match="bad_url"):
        office.handle.register_webhook(url)


def test_a_failed_webhook_is_repeated_only_while_the_call_rings(office: Switchboard) -> None:
    agent = AgentServer(lambda _: AgentAnswer(500))
    office.handle.register_webhook(agent.url)
    office.ring()
    office.pass_time("1h")
    agent.close()
    assert 1 < len(office.attempts) < 5
    assert {attempt.status for attempt in office.attempts} == {500}


def test_a_webhook_that_hangs_does_not_stop_other_calls(office: Switchboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_webhook, "MAX_ANSWER_SECONDS", 0.05)
    server = AgentServer(lambda _: (server.released.wait(20), AgentAnswer())[1])
    office.handle.register_webhook(server.url)
    office.ring(voicemail="Call me.")
    other = office.handle.dial("+15550100150")
    assert "Lakeside Pharmacy" in office.handle.listen(other)
    office.pass_time()
    server.close()
    assert {attempt.outcome for attempt in office.attempts} == {"timed_out"}
    assert office.state.mailboxes.count_unread("main") == 1


def test_a_rewound_run_does_not_tell_of_a_call_again(office: Switchboard, agent: AgentServer) -> None:
    office.handle.register_webhook(agent.url)
    office.ring()
    office.pass_time("5s")
    log = office.playground.log
    office.playground.rewind(SavedLog(tuple(log.events), tuple(log.lines)))
    second = office.ring(**{"from": "+15550100002"})
    office.pass_time("5s")
    assert [each.json["call"] for each in agent.posted] == ["call-1", second]
