"""Agents behind an address: their messages, signatures, and invalid replies."""

import base64
import hashlib
import hmac
import json
import threading
from typing import Any

import pytest

from clerkship.actors.webhook import load_http, parse_secret
from clerkship.engine.build import build_solver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.wall import now
from clerkship.model.errors import InputError
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.actors.programs import TALK, WORK, suite
from tests.actors.servers import Answer, Answered, Asked, Served
from tests.waiting import wait_until
from tests.workbench import CATALOG, Workbench


def replies(data: Any, status: int = 200) -> Answer:
    """Return a server function with a constant answer."""
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    return lambda asked: (status, {}, body)


def talk(asked: Asked) -> Answered:
    """Say bye in the third turn."""
    message = json.loads(asked.body)
    slot = {"kind": "agent.slot.set", "name": "turn", "value": message["turn"]}
    said = {"say": "bye" if message["turn"] == 3 else "go on", "report": [slot]}
    return 200, {"Content-Type": "application/json"}, json.dumps(said).encode()


def test_each_turn_is_one_post_with_the_same_conversation_id(bench: Workbench) -> None:
    suite(bench, TALK)
    with Served(talk) as served:
        task_runs = bench.run(f"{served.url}/hook?key=k", trials=2, concurrency=1)
    assert [(t.verdict, t.agent_error) for t in task_runs] == [("pass", "")] * 2
    sent = [json.loads(asked.body) for asked in served.asked]
    assert [(m["type"], m["turn"], m["trial"]) for m in sent] == [("turn", n, k) for k in (1, 2) for n in (1, 2, 3)]
    assert sent[0]["sandboxes"]["drop"]["kind"] == "files"
    names = [message["conversation"] for message in sent]
    assert names[0] == names[1] == names[2] != names[3] == names[5]
    assert bench.kinds(task_runs[0]).count("agent.slot.set") == 3
    assert names[0].encode() not in b"".join(bench.store.log(task_runs[0]))
    assert served.asked[0].path == "/hook?key=k"
    assert bench.result is not None
    assert bench.result.run.solver == f"http:{served.url}/hook?…"
    with pytest.raises(InputError, match="is not stored, because it may contain a key"):
        load_http(f"{served.url}/hook?…", Settings())
    assert "webhook-signature" not in served.asked[0].headers


def test_task_is_one_post_with_an_answer(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(replies({"answer": 42})) as served:
        task_run = bench.run_one(f"http:{served.url}")
    assert (task_run.verdict, task_run.agent_error) == ("pass", "")
    assert json.loads(served.asked[0].body)["task_item"] == {"instruction": "What is six times seven?"}


@pytest.mark.parametrize("secret", ["plain words", "whsec_" + base64.b64encode(b"of 24 to 64 random bytes").decode()])
def test_messages_are_signed_if_there_is_a_secret(bench: Workbench, secret: str) -> None:
    suite(bench, WORK)
    with Served(replies({"answer": 42})) as served:
        solver = load_http(served.url, Settings(webhook_secret=secret))
        assert bench.run_one(solver).verdict == "pass"
    [asked] = served.asked
    head = f"{asked.headers['webhook-id']}.{asked.headers['webhook-timestamp']}."
    expected = hmac.new(parse_secret(secret), head.encode() + asked.body, hashlib.sha256).digest()
    assert asked.headers["webhook-signature"] == f"v1,{base64.b64encode(expected).decode()}"
    assert abs(int(asked.headers["webhook-timestamp"]) - now().timestamp()) < 60


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (replies({"answer": 1}, 500), "it replied with status 500: "),
        (replies(b"<html>sign in", 403), "it replied with status 403: '<html>sign in'"),
        (replies(b"<html>"), "its reply is not JSON: '<html>'"),
        (replies([1]), "its reply is not a JSON object"),
        (replies({"say": "hello"}), "its reply has no `answer`; found: 'say'"),
        (replies({"answer": 1, "report": [{"kind": "nonsense"}]}), "unknown kind `nonsense` in a report"),
        (lambda asked: (200, {}, b"{" + b"x" * 9_000_000), "its reply has more than 8,000,000 bytes"),
        (replies({"answer": "x" * 2_000_000}), "2,000,000 characters"),
        (lambda asked: None, "the connection to "),
        (lambda asked: (200, {"Content-Length": "100"}, b"{}"), "the connection to "),
    ],
)
def test_invalid_reply_is_the_agents_error(bench: Workbench, answer: Answer, said: str) -> None:
    suite(bench, WORK)

    def once(asked: Asked) -> Answered | None:
        found = answer(asked)
        return found if found is None else (found[0], {**found[1], "Connection": "close"}, found[2])

    with Served(once) as served:
        task_run = bench.run_one(f"http:{served.url}")
    assert (task_run.status, task_run.ending) == ("completed", "agent_failed")
    assert said in task_run.agent_error


def test_endless_reply_is_read_up_to_the_limit(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(lambda asked: (200, {"Content-Length": "900000000"}, b"x" * 9_000_000)) as served:
        task_runs = bench.run(f"http:{served.url}", trials=2, concurrency=1)
    assert ["more than 8,000,000 bytes" in task_run.agent_error for task_run in task_runs] == [True, True]


def test_redirects_are_not_followed(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(replies({"answer": 42})) as other:
        with Served(lambda asked: (307, {"Location": f"{other.url}/there"}, b"")) as served:
            task_run = bench.run_one(f"http:{served.url}")
        assert other.asked == []
    assert f"it redirects (307) to {other.url}/there" in task_run.agent_error


def test_a_server_that_goes_away_after_the_preflight_is_the_agents_error(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(replies({"answer": 42})) as served:
        plan = plan_run(RunRequest(path=bench.folder, agent=f"http:{served.url}"), Settings(timeout=20), CATALOG)
    result = execute(plan, bench.store, CATALOG)
    [task_run] = bench.store.task_runs(result.run.id)
    assert (task_run.ending, task_run.verdict) == ("agent_failed", "fail")
    assert f"{served.url.removeprefix('http://')} cannot be reached" in task_run.agent_error


def test_server_without_an_answer_times_out_and_is_disconnected(bench: Workbench) -> None:
    released = threading.Event()
    ends: list[bool] = []

    def hangs(asked: Asked) -> None:
        ends.append(released.wait(60))

    suite(bench, WORK, timeout=0.5)
    with Served(hangs) as served:
        task_runs = bench.run(f"http:{served.url}", trials=2, concurrency=1)
        released.set()
    assert [(t.status, t.agent_error) for t in task_runs] == [("timed_out", "")] * 2
    assert wait_until(lambda: len(ends) == 2)
    assert ends == [True] * 2  # no trial has waited for its server


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("http:", "is not an address"),
        ("http:ftp://host/", "is not an address"),
        ("http:nonsense", "is not an address"),
        ("http://host:port/", "is not an address"),
        ("https://me:hush@host/", "contains a password"),
    ],
)
def test_invalid_address_is_rejected_before_the_run(reference: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        build_solver(reference, RegisteredCatalog(), Settings())
    assert "hush" not in str(caught.value)


def test_address_is_accepted_with_and_without_the_http_prefix() -> None:
    for reference in ("https://host/a", "http:https://host/a"):
        assert build_solver(reference, RegisteredCatalog(), Settings()).name == "http:https://host/a"
    with pytest.raises(InputError, match="not base64"):
        build_solver("http://host/a", RegisteredCatalog(), Settings(webhook_secret="whsec_???"))
    assert "hush" not in repr(Settings(webhook_secret="hush", openai_api_key="hush"))
