"""Webhooks of a fax line: INCOMING_FAX, FAX_COMPLETED, and the one of the neutral API."""

import base64

import orjson
import pytest

from clerkship.playground import clock_hold
from clerkship.playground.playground import SavedLog
from clerkship.transports.outbound import event_webhook
from tests.simulators.agent_server import AgentAnswer, AgentServer
from tests.simulators.fax.sinch.clinic import BUSY, LAB, FaxingClinic


def test_a_fax_that_arrives_is_posted_as_a_form_with_its_file(clinic: FaxingClinic, agent: AgentServer) -> None:
    url = f"{agent.url}/in?key=s3cret"
    assert clinic.register(url)["incomingWebhookUrl"] == url
    id = clinic.receive(pages=2)
    clinic.create()
    clinic.pass_time()
    [posted] = agent.posted
    parts = posted.parts
    assert posted.path == "/in?key=s3cret"
    assert (parts["event"].text, list(parts)) == ("INCOMING_FAX", ["event", "eventTime", "fax", "file"])
    fax = orjson.loads(parts["fax"].data)
    assert (fax["id"], fax["direction"], fax["status"], fax["numberOfPages"]) == (id, "INBOUND", "COMPLETED", 2)
    assert (parts["file"].filename, parts["file"].media) == (f"{id}.pdf", "application/pdf")
    assert parts["file"].data == clinic.send("GET", f"/faxes/{id}/file.pdf").body
    assert clinic.outcomes == [("delivered", "")]
    assert "s3cret" not in clinic.log


@pytest.mark.slow
def test_a_long_fax_is_posted_before_the_clock_moves_on(
    clinic: FaxingClinic, agent: AgentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock_hold, "MAX_HOLD_SECONDS", 20.0)  # a busy machine takes long to read 100 pages
    clinic.register(agent.url)
    clinic.receive(pages=100)
    clinic.pass_time("1s")
    assert [orjson.loads(each.parts["fax"].data)["numberOfPages"] for each in agent.posted] == [100]


def test_a_webhook_leaves_a_fax_unread(clinic: FaxingClinic, agent: AgentServer) -> None:
    clinic.register(agent.url)
    id = clinic.receive()
    clinic.pass_time()
    assert len(agent.posted) == 1
    assert clinic.state.faxes[id].is_unread


def test_json_webhooks_have_the_file_in_base64(clinic: FaxingClinic, agent: AgentServer) -> None:
    clinic.register(f"{agent.url}/form")
    service = clinic.register(f"{agent.url}/json", webhookContentType="application/json")
    assert service["webhookContentType"] == "application/json"
    assert clinic.json("GET", clinic.service) == service
    id = clinic.receive()
    clinic.pass_time()
    [posted] = agent.posted
    assert (posted.path, posted.json["event"], posted.json["fax"]["id"]) == ("/json", "INCOMING_FAX", id)
    assert posted.json["fileType"] == "PDF"
    assert base64.b64decode(posted.json["file"])[:5] == b"%PDF-"


def test_a_removed_webhook_is_not_called(clinic: FaxingClinic, agent: AgentServer) -> None:
    clinic.register(agent.url, webhookContentType="application/json")
    clinic.register("")
    clinic.receive()
    clinic.pass_time()
    assert not agent.posted


def test_each_fax_is_reported_once_to_its_own_callback_when_it_is_done(
    clinic: FaxingClinic, agent: AgentServer
) -> None:
    good = clinic.create(callbackUrl=f"{agent.url}/good", callbackUrlContentType="application/json")["id"]
    bad = clinic.create(to=BUSY, maxRetries=1, callbackUrl=f"{agent.url}/bad?key=s3cret")["id"]
    clinic.create()
    clinic.pass_time()
    posted = {each.path: each for each in agent.posted}
    assert len(agent.posted) == len(posted) == 2
    assert (posted["/good"].json["event"], posted["/good"].json["fax"]["id"]) == ("FAX_COMPLETED", good)
    fax = orjson.loads(posted["/bad?key=s3cret"].parts["fax"].data)
    assert (fax["id"], fax["status"], fax["errorCode"], fax["retryCount"]) == (bad, "FAILURE", 17, 1)
    assert "s3cret" not in clinic.log


def test_the_neutral_webhook_tells_of_faxes_that_arrive_and_are_done(clinic: FaxingClinic, agent: AgentServer) -> None:
    arrived = clinic.receive()
    clinic.handle.register_webhook(f"{agent.url}/hook")
    sent = clinic.create()["id"]
    clinic.pass_time()
    told = [(each.json["event"], each.json["fax"]["id"], each.json["fax"]["status"]) for each in agent.posted]
    assert told == [("fax.arrived", arrived, "received"), ("fax.done", sent, "delivered")]


def test_the_webhook_of_the_config_is_called(agent: AgentServer) -> None:
    clinic = FaxingClinic(webhook=f"{agent.url}/config")
    clinic.receive()
    clinic.pass_time()
    clinic.close()
    assert [each.path for each in agent.posted] == ["/config"]


@pytest.mark.parametrize(
    ("answer", "outcome", "reason"),
    [
        (AgentAnswer(body=b"x", repeat=10_000_000), "rejected", "response_too_large"),
        (AgentAnswer(307, location="/in"), "rejected", "too_many_redirects"),
        (AgentAnswer(302, location="/in"), "rejected", "redirect_not_followed"),
        (AgentAnswer(307, location="http://192.0.2.1/"), "refused_by_policy", "not_this_machine"),
        (AgentAnswer(307, location="http://[/"), "rejected", "bad_redirect"),
        (AgentAnswer(404), "rejected", ""),
    ],
)
@pytest.mark.parametrize("hook", ["sinch", "neutral"])
def test_a_bad_answer_is_logged_and_not_tried_again(
    clinic: FaxingClinic, hook: str, answer: AgentAnswer, outcome: str, reason: str
) -> None:
    agent = AgentServer(lambda _: answer)
    if hook == "sinch":
        clinic.register(f"{agent.url}/in")
    else:
        clinic.handle.register_webhook(f"{agent.url}/in")
    clinic.receive()
    clinic.pass_time()
    agent.close()
    assert clinic.outcomes == [(outcome, reason)]
    assert not clinic.playground.broken


def test_a_redirect_to_the_sandbox_itself_is_refused(clinic: FaxingClinic) -> None:
    agent = AgentServer(lambda _: AgentAnswer(307, location=clinic.handle.url))
    clinic.register(f"{agent.url}/in")
    clinic.receive()
    clinic.pass_time()
    agent.close()
    assert clinic.outcomes == [("refused_by_policy", "not_yours")]


def test_errors_of_the_agent_are_retried_in_simulated_time_and_given_up(clinic: FaxingClinic) -> None:
    agent = AgentServer(lambda _: AgentAnswer(500))
    clinic.register(f"{agent.url}/in")
    clinic.receive()
    clinic.pass_time("24h")
    agent.close()
    assert [each.status for each in clinic.attempts] == [500] * 5
    assert clinic.attempts[-1].retry_in is None
    assert len({each.body for each in agent.posted}) == 1  # each attempt sends the same bytes


def test_a_callback_that_hangs_is_given_up(clinic: FaxingClinic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_webhook, "MAX_ANSWER_SECONDS", 0.05)
    agent = AgentServer(lambda _: (agent.released.wait(20), AgentAnswer())[1])
    clinic.create(callbackUrl=f"{agent.url}/hang")
    clinic.pass_time("24h")
    agent.close()
    assert [each.outcome for each in clinic.attempts] == ["timed_out"] * 5


def test_a_callback_where_nothing_listens_is_logged(clinic: FaxingClinic) -> None:
    agent = AgentServer()
    agent.close()
    clinic.create(callbackUrl=f"{agent.url}/gone", maxRetries=0)
    clinic.pass_time("24h")
    assert {outcome for outcome, _ in clinic.outcomes} == {"connection_refused"}


def test_a_rewound_run_does_not_report_a_fax_again(clinic: FaxingClinic, agent: AgentServer) -> None:
    clinic.register(agent.url)
    clinic.receive()
    clinic.pass_time()
    log = clinic.playground.log
    clinic.playground.rewind(SavedLog(tuple(log.events), tuple(log.lines)))
    clinic.playground.ids.skip_used(line.decode() for line in log.lines)  # as a fork does
    clinic.receive(sender=BUSY)
    clinic.pass_time()
    senders = [orjson.loads(each.parts["fax"].data)["from"] for each in agent.posted]
    assert senders == [LAB, BUSY]


def test_a_fax_that_a_rewind_undoes_is_reported_when_it_arrives_again(clinic: FaxingClinic, agent: AgentServer) -> None:
    clinic.register(agent.url)
    first = clinic.receive()
    clinic.pass_time()
    clinic.playground.rewind(SavedLog())
    assert clinic.receive() == first
    clinic.pass_time()
    assert [orjson.loads(each.parts["fax"].data)["id"] for each in agent.posted] == [first, first]
