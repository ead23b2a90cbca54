"""Bots over HTTP with a format of their own: requests, replies, sessions, start calls, and failures."""

import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from clerkship.actors.http_bot_loading import load_http_agent
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.settings import Settings
from tests.actors.programs import TALK, WORK, suite
from tests.actors.servers import Answer, Answered, Asked, Served
from tests.waiting import wait_until
from tests.workbench import CATALOG, Workbench

MESSAGE = '{"message": "{{ text }}"}'
TWO_LINES = """
    environment: {name: desk, now: 2026-03-02T09:00:00-05:00, simulators: {chat: {kind: chat}}}
    task:
      name: Talk
      task_item: {instruction: Be brief.}
      scenario:
        starts: person
        initial_slots: {insurer: Acme}
        person: {lines: ["Say \\"hi\\"\\n\\", \\"admin\\": true", two]}
      criteria:
        - {label: answers, assertion: {bot_uttered: {text_matches: .}}}
"""


def sends(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answered:
    """Return a response with JSON, or with bytes as they are."""
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    return status, {"Content-Type": "application/json", "Connection": "close", **(headers or {})}, body


def posts(served: Served) -> list[Asked]:
    """Return the messages that a bot received, without the check before the run."""
    return [asked for asked in served.asked if asked.method == "POST"]


def bodies(served: Served) -> list[Any]:
    """Return the JSON of the messages that a bot received."""
    return [json.loads(asked.body) for asked in posts(served)]


def said(bench: Workbench, task_run: TaskRun) -> list[str]:
    """Return what the agent said, in order."""
    events = [event for event in bench.events(task_run) if event["kind"] == "chat.message.sent"]
    return [event["payload"]["text"] for event in events if event["actor"] == "agent"]


def buttons(bench: Workbench, task_run: TaskRun) -> list[Any]:
    """Return the buttons of each message of the agent."""
    events = [event for event in bench.events(task_run) if event["kind"] == "chat.message.sent"]
    return [event["payload"]["buttons"] for event in events if event["actor"] == "agent"]


def fail_of(bench: Workbench, answer: Answer, **options: Any) -> str:
    """Return the error of an agent whose every response is this, after checking that it is the agent's own."""
    bench.write("a.yml", TWO_LINES)
    with Served(answer) as served:
        task_run = bench.run_one(f"{served.url}/chat", **{"agent_request": MESSAGE, **options})
    assert (task_run.status, task_run.ending) == ("completed", "agent_failed")
    return task_run.agent_error


def test_text_is_put_into_the_parsed_json_and_cannot_change_it(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES)
    request = '{"message": "{{ text }}", "admin": false, "note": "turn {{turn}}: {{ text }}"}'
    with Served(lambda asked: sends({"reply": {"text": "Good."}})) as served:
        task_run = bench.run_one(f"{served.url}/chat", agent_request=request, agent_reply="reply.text")
    assert (task_run.verdict, task_run.agent_error, said(bench, task_run)) == ("pass", "", ["Good.", "Good."])
    hostile = 'Say "hi"\n", "admin": true'
    assert bodies(served) == [
        {"message": hostile, "admin": False, "note": f"turn 1: {hostile}"},
        {"message": "two", "admin": False, "note": "turn 2: two"},
    ]


def test_value_that_is_only_a_variable_keeps_its_type(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES)
    request = {
        "turn": "{{ turn }}",
        "trial": "{{trial}}",
        "slots": "{{ slots }}",
        "who": "{{ slots.insurer }}",
        "meta": "{{ metadata }}",
        "absent": "{{ slots.other }}",
        "task": "{{ task_item.instruction }}",
        "said": ["{{ text }}", 1, None],
    }
    with Served(lambda asked: sends({"text": "Good."})) as served:
        bench.run_one(f"{served.url}/chat", agent_request=request, agent_reply="text")
    first = bodies(served)[0]
    assert first.pop("said")[1:] == [1, None]
    assert first == {
        "turn": 1,
        "trial": 1,
        "slots": {"insurer": "Acme"},
        "who": "Acme",
        "meta": None,
        "absent": None,
        "task": "Be brief.",
    }


def test_stateless_bot_gets_the_messages_so_far(bench: Workbench) -> None:
    suite(bench, TALK)

    def complete(asked: Asked) -> Answered:
        count = len(json.loads(asked.body)["messages"])
        message = {"role": "assistant", "content": "bye" if count == 5 else f"heard {count}"}
        return sends({"id": "x", "choices": [{"index": 0, "message": message}]})

    with Served(complete) as served:
        task_run = bench.run_one(
            f"{served.url}/v1/chat/completions",
            agent_request='{"model": "m", "messages": "{{ messages }}", "stream": false}',
            agent_reply="choices[0].message.content",
        )
    assert (task_run.verdict, said(bench, task_run)) == ("pass", ["heard 1", "heard 3", "bye"])
    assert bodies(served)[1]["messages"] == [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "heard 1"},
        {"role": "user", "content": "Go on"},
    ]


@pytest.mark.parametrize(
    ("reply", "paths", "texts", "shown"),
    [
        ({"messages": ["One", "Two"]}, {"reply": "messages"}, ["One", "Two"], [[], []]),
        (
            [{"text": "One"}, {"text": "Two", "buttons": [{"title": "Yes", "payload": "/y"}]}],
            {"reply": "*"},
            ["One", "Two"],
            [[], [{"title": "Yes", "payload": "/y"}]],
        ),
        (
            {"messages": [{"type": "text", "text": "One"}, {"type": "typing"}]},
            {"reply": "messages.*.text"},
            ["One"],
            [[]],
        ),
        (
            {"messages": [{"content": "One", "quick": ["A"]}, {"content": "Two", "quick": ["B", "C"]}]},
            {"reply": "messages", "buttons": "messages.*.quick"},
            ["One", "Two"],
            [
                [{"title": "A", "payload": "A"}],
                [{"title": "B", "payload": "B"}, {"title": "C", "payload": "C"}],
            ],
        ),
        (
            {"messages": [{"text": "One", "quick": ["A"]}, {"text": "Two"}]},
            {"reply": "messages.*.text", "buttons": "messages.*.quick"},
            ["One", "Two"],
            [[{"title": "A", "payload": "A"}], []],
        ),
        (
            {"reply": {"text": "One", "options": [{"label": "Yes", "value": "y", "style": 1}]}},
            {"reply": "reply.text", "buttons": "reply.options"},
            ["One"],
            [[{"label": "Yes", "value": "y", "style": 1, "title": "Yes", "payload": "y"}]],
        ),
        (
            {"texts": ["One", "Two"], "suggestions": ["Yes"]},
            {"reply": "texts", "buttons": "suggestions"},
            ["One", "Two"],
            [[], [{"title": "Yes", "payload": "Yes"}]],
        ),
    ],
)
def test_list_reply_is_several_messages_with_their_buttons(
    bench: Workbench, reply: Any, paths: Mapping[str, str], texts: list[str], shown: list[Any]
) -> None:
    suite(bench, TALK.replace("max_turns: 5", "max_turns: 1"))
    with Served(lambda asked: sends(reply)) as served:
        options = {f"agent_{name}": path for name, path in paths.items()}
        task_run = bench.run_one(f"{served.url}/chat", agent_request=MESSAGE, **options)
    assert task_run.agent_error == ""
    assert (said(bench, task_run), buttons(bench, task_run)) == (texts, shown)


@pytest.mark.parametrize(
    ("reply", "path"),
    [({"messages": []}, "messages"), ({"messages": []}, "messages.*.text"), ({"text": None}, "text"), (b"", "")],
)
def test_empty_reply_is_silence(bench: Workbench, reply: Any, path: str) -> None:
    suite(bench, TALK)
    with Served(lambda asked: sends(reply)) as served:
        task_run = bench.run_one(f"{served.url}/chat", agent_request=MESSAGE, agent_reply=path)
    assert (task_run.ending, task_run.agent_error) == ("agent_silent", "")


def test_message_without_text_is_kept_as_custom_data(bench: Workbench) -> None:
    suite(bench, TALK.replace("max_turns: 5", "max_turns: 1"))
    with Served(lambda asked: sends({"messages": [{"image": "a.png"}]})) as served:
        task_run = bench.run_one(f"{served.url}/chat", agent_request=MESSAGE, agent_reply="messages")
    [event] = [e for e in bench.events(task_run) if e["kind"] == "chat.message.sent" and e["actor"] == "agent"]
    assert event["payload"]["custom"] == {"image": "a.png"}


@pytest.mark.parametrize("body", [b"Good day.\n", b'"Good day."', b'["Good day."]'])
def test_reply_without_a_path_is_plain_text(bench: Workbench, body: bytes) -> None:
    suite(bench, TALK.replace("max_turns: 5", "max_turns: 1"))
    with Served(lambda asked: sends(body, headers={"Content-Type": "text/plain"})) as served:
        task_run = bench.run_one(f"{served.url}/chat", agent_request=MESSAGE)
    assert [text.strip() for text in said(bench, task_run)] == ["Good day."]


def test_task_without_a_conversation_sends_its_instruction(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(lambda asked: sends({"result": {"value": 42}})) as served:
        task_run = bench.run_one(f"{served.url}/ask", agent_request=MESSAGE, agent_reply="result.value")
    assert (task_run.verdict, task_run.agent_error) == ("pass", "")
    assert bodies(served) == [{"message": "What is six times seven?"}]


def test_sandboxes_are_told_only_if_the_request_has_them(bench: Workbench) -> None:
    suite(bench, WORK)
    request = {"message": "{{ text }}", "tools": "{{ sandboxes }}", "now": "{{ now }}"}
    with Served(lambda asked: sends({"a": 42})) as served:
        assert bench.run_one(f"{served.url}/ask", agent_request=request, agent_reply="a").verdict == "pass"
    [sent] = bodies(served)
    assert sent["tools"]["drop"].keys() >= {"kind", "url", "token"}


def test_each_trial_has_its_own_session_in_body_and_address(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES)
    with Served(lambda asked: sends({"text": "Good."})) as served:
        task_runs = bench.run(
            f"{served.url}/chat/{{{{ session }}}}?user={{{{ session }}}}",
            agent_request='{"message": "{{ text }}", "user": {"id": "{{ session }}"}}',
            agent_reply="text",
            trials=2,
            concurrency=1,
        )
    sessions = [sent["user"]["id"] for sent in bodies(served)]
    assert sessions[0] == sessions[1] != sessions[2] == sessions[3]
    assert posts(served)[0].path == f"/chat/{sessions[0]}?user={sessions[0]}"
    assert bench.result is not None
    assert bench.result.run.solver == f"http:{served.url}/chat/{{{{ session }}}}?user={{{{ session }}}}"
    assert sessions[0].encode() not in b"".join(bench.store.log(task_runs[0]))


def test_session_of_a_reply_is_sent_in_later_requests(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES)
    ids = iter(["s-1", "s-2"])
    with Served(lambda asked: sends({"text": "Good.", "conversation": {"id": next(ids)}})) as served:
        bench.run_one(
            f"{served.url}/chat",
            agent_request='{"message": "{{ text }}", "previous": "{{ session }}", "label": "after {{ session }}"}',
            agent_reply="text",
            agent_session="conversation.id",
            agent_headers=("X-Session: {{ session }}!",),
        )
    first, second = bodies(served)
    assert "previous" not in first
    assert (first["label"], second["previous"], second["label"]) == ("after ", "s-1", "after s-1")
    assert [asked.headers["x-session"] for asked in posts(served)] == ["!", "s-1!"]


def test_cookies_are_sent_back(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES)
    with Served(lambda asked: sends({"text": "Good."}, headers={"Set-Cookie": "sid=7; Path=/"})) as served:
        bench.run(f"{served.url}/chat", agent_request=MESSAGE, agent_reply="text", trials=2, concurrency=1)
    assert [asked.headers.get("cookie") for asked in posts(served)] == [None, "sid=7"] * 2


def start_bot(asked: Asked) -> Answered:
    """Create a session, and reply only in it."""
    if asked.path == "/sessions":
        return sends({"session": {"id": 17}, "welcome": [{"text": "Welcome."}, {"text": "How can I help?"}]}, 201)
    assert asked.path == "/sessions/17/messages"
    return sends({"reply": {"text": "Good."}})


def test_start_call_gives_session_and_greeting(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES)
    with Served(start_bot) as served:
        task_run = bench.run_one(
            f"{served.url}/sessions/{{{{ session }}}}/messages",
            agent_request='{"message": "{{ text }}", "session": "{{ session }}"}',
            agent_reply="reply.text",
            agent_start="/sessions",
            agent_start_request='{"insurer": "{{ slots.insurer }}", "old": "{{ session }}"}',
            agent_session="session.id",
            agent_greeting="welcome",
        )
    assert (task_run.verdict, task_run.agent_error) == ("pass", "")
    assert said(bench, task_run) == ["Welcome.", "How can I help?", "Good.", "Good."]
    assert [asked.path for asked in posts(served)] == ["/sessions", *["/sessions/17/messages"] * 2]
    assert (bodies(served)[0], bodies(served)[1]["session"]) == ({"insurer": "Acme"}, 17)


def test_start_call_without_a_greeting_is_silent(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES)

    def answer(asked: Asked) -> Answered:
        return sends(b"", 204) if b"start" in asked.body else sends({"text": "Good."})

    with Served(answer) as served:
        task_run = bench.run_one(
            f"{served.url}/chat", agent_request=MESSAGE, agent_reply="text", agent_start_request={"type": "start"}
        )
    assert said(bench, task_run) == ["Good.", "Good."]
    assert [asked.path for asked in posts(served)] == ["/chat"] * 3


def test_failed_start_call_is_the_agents_error(bench: Workbench) -> None:
    error = fail_of(bench, lambda asked: sends({"id": ""}), agent_start="/new", agent_session="id", agent_reply="text")
    assert "its session id at `id` (--session) is empty" in error
    error = fail_of(bench, lambda asked: sends({"hi": 1}), agent_start="/new", agent_greeting="hello.text")
    assert "its reply has nothing at `hello.text` (--greeting): it is a map with the keys 'hi'" in error


LONG = {"reply": {"message": "x" * 1000, "id": 1}}


@pytest.mark.parametrize(
    ("answer", "path", "message"),
    [
        (sends(LONG), "reply.text", "`reply.text` (--reply): `reply` is a map with the keys 'message', 'id'; it ret"),
        (sends(LONG), "answer", "nothing at `answer` (--reply): it is a map with the keys 'reply'"),
        (sends({"a": [{"t": 1}]}), "a.t", "`a` is a list of 1; for each item write `a.*.t`"),
        (sends({"a": [{"t": 1}]}), "a.*.text", "none of the 1 items of `a` has `text`; the first is a map with the k"),
        (sends({"a": "b"}), "a.text", "`a` is str 'b'"),
        (sends({"a": {}}), "a.*", "`a` is an empty map, and `*` needs a list"),
        (sends({"a": 5}), "a", "its reply has int 5 where --reply points; expected text"),
        (sends({"a": "x"}), "", "its reply is a map with the keys 'a'; say with --reply where the message is"),
        (sends(b"Hello"), "a", "its reply is not JSON: 'Hello'; leave --reply out if the bot replies with plain text"),
        (sends(b""), "a", "its reply is empty; expected JSON"),
        (sends(b"<!DOCTYPE html><p>", headers={"Content-Type": "text/html"}), "", "it replied with a web page"),
        (sends(b"data: {}", headers={"Content-Type": "text/event-stream"}), "", "it streams its reply"),
        (sends({"detail": "no"}, 422), "a", 'status 422: \'{"detail": "no"}\'; check --request'),
        (sends({"detail": "no"}, 401), "a", "give its key with --header or CLERKSHIP_AGENT_HEADERS"),
        (sends({"detail": "no"}, 404), "a", "check the address in --agent"),
        (sends({"detail": "no"}, 503), "a", "it replied with status 503"),
        (
            sends(b"", 302, {"Location": "https://other.example/chat"}),
            "a",
            "it redirects (302) to https://other.example/ch",
        ),
        (sends({"a": "x" * 200_000}), "a", "a reply of 200,000 characters; the limit is 100,000"),
        (None, "a", "the connection to "),
    ],
)
def test_invalid_reply_is_the_agents_error_and_says_what_to_do(
    bench: Workbench, answer: Answered | None, path: str, message: str
) -> None:
    error = fail_of(bench, lambda asked: answer, agent_reply=path)
    assert message in error
    assert len(error) < 700


def test_reply_of_nine_megabytes_is_the_agents_error(bench: Workbench) -> None:
    error = fail_of(bench, lambda asked: sends(b'"' + b"x" * 9_000_000 + b'"'), agent_reply="a")
    assert "its reply has more than 8,000,000 bytes" in error
    assert len(error) < 700


def test_bot_that_does_not_answer_ends_with_the_turn_timeout(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES)
    released = threading.Event()
    ends: list[bool] = []

    def hangs(asked: Asked) -> None:
        ends.append(released.wait(60))

    with Served(hangs) as served:
        task_run = bench.run_one(f"{served.url}/chat", agent_request=MESSAGE, agent_reply="a", turn_timeout=0.5)
        released.set()
    assert (task_run.ending, task_run.status) == ("turn_timed_out", "timed_out")
    assert wait_until(lambda: ends == [True])


def test_bot_that_cannot_be_reached_stops_the_run_before_it_starts(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES)
    with pytest.raises(InputError, match=r"cannot connect to 127\.0\.0\.1:9"):
        bench.run("http://127.0.0.1:9/chat/{{ session }}", agent_request=MESSAGE)


def test_start_call_at_another_host_is_checked_before_the_run(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES)
    with (
        Served(lambda asked: sends({"a": "b"})) as served,
        pytest.raises(InputError, match=r"start call\): cannot connect to 127\.0\.0\.1:9"),
    ):
        bench.run(f"{served.url}/chat", agent_request=MESSAGE, agent_start="http://127.0.0.1:9/new")


def test_criterion_on_reported_events_is_warned_about(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES.replace("bot_uttered: {text_matches: .}", "flow_started: booking"))
    with Served(lambda asked: sends({"a": "b"})) as served:
        request = RunRequest(path=bench.folder, agent=f"{served.url}/chat", agent_request=MESSAGE, agent_reply="a")
        plan = plan_run(request, Settings(), CATALOG)
    assert any("a bot over HTTP" in str(warning) for warning in plan.warnings)


def test_plain_word_in_a_header_does_not_change_replies(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES)
    with Served(lambda asked: sends({"a": "production is up"})) as served:
        headers = ("X-Tenant: production",)
        task_run = bench.run_one(f"{served.url}/c", agent_request=MESSAGE, agent_reply="a", agent_headers=headers)
    assert said(bench, task_run)[0] == "production is up"


def test_reply_in_another_format_points_to_the_request_option(bench: Workbench) -> None:
    bench.write("a.yml", TWO_LINES)
    with Served(lambda asked: sends({"reply": "Good."})) as served:
        task_run = bench.run_one(f"{served.url}/chat")
    assert "its reply has no `say`; found: 'reply'; if it has its own format, describe it with --request" in (
        task_run.agent_error
    )
    assert bodies(served)[0]["type"] == "turn"


@pytest.mark.parametrize(
    ("address", "options", "message"),
    [
        ("", {"request": '{"message": {{ text }}}'}, r"is not JSON: .*column 14.*put variables in quotes"),
        ("", {"request": "{message: 1}"}, "is not JSON: .*put it in single quotes"),
        ("", {"request": '{"a": NaN, "b": "{{ text }}"}'}, "NaN is not a JSON value"),
        ("", {"request": '{"a": 123456789012345678901234567890, "b": "{{ text }}"}'}, "cannot be sent"),
        ("", {"request": "null"}, "is null"),
        ("", {"request": "[" * 80 + '"{{ text }}"' + "]" * 80}, "nested more than 64 levels deep"),
        ("", {"request": "@no/such/file.json"}, "no/such/file.json cannot be read"),
        ("", {"request": '{"message": "hello"}'}, "does not contain the person's message"),
        ("", {"request": '{"message": "{{ txt }}"}'}, "unknown variable `txt`; did you mean `text`?"),
        ("", {"request": '{"message": "{{ text | upper }}"}'}, "is not a variable.*filters"),
        ("", {"request": '{"message": "{{ text }} {% if x %}"}'}, "is not a variable"),
        ("", {"request": '{"{{ text }}": 1}'}, "a key has a variable"),
        ("", {"request": '{"message": "{{ text }}", "key": "${NO_SUCH_KEY_HERE}"}'}, "NO_SUCH_KEY_HERE is not set"),
        ("", {"request": MESSAGE, "start_request": '{"t": "{{ text }}"}'}, "`text` is not known before the first"),
        ("", {"request": MESSAGE, "start": "/new?key=1"}, "may not have a query"),
        ("", {"request": MESSAGE, "start": '{"a": 1}'}, "give the body with --start-request"),
        ("", {"request": MESSAGE, "greeting": "a"}, "--greeting needs a start call"),
        ("", {"request": MESSAGE, "reply": "$..text"}, "is not a path"),
        ("", {"request": MESSAGE, "headers": "no colon"}, "a header has no colon"),
        ("", {"request": MESSAGE, "headers": "Host: a"}, "`Host` follows from the address"),
        ("", {"request": MESSAGE, "headers": '{"A": 1}'}, "not a JSON object of texts"),
        ("", {"request": MESSAGE, "headers": "X-A: {{ text }}"}, "unknown variable `text`"),
        ("/{{ session }}", {"request": MESSAGE, "session": "id"}, "give a start call with --start"),
        ("/{{ session }}", {"request": MESSAGE, "session": "id", "start_request": "{}"}, "give --start ADDRESS"),
        ("?…", {"request": MESSAGE}, "the query is not stored"),
        ("", {"reply": "text"}, "--reply needs the request of the bot"),
        ("", {"headers": "A: b"}, "--header .*needs the request of the bot"),
    ],
)
def test_mistake_in_the_options_is_reported_before_the_run(
    address: str, options: Mapping[str, str], message: str
) -> None:
    settings = Settings(**{f"agent_{name}": value for name, value in options.items()})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        load_http_agent(f"http://host/chat{address}", settings)


def test_host_with_a_variable_is_rejected() -> None:
    with pytest.raises(InputError, match="the host has a variable"):
        load_http_agent("http://{{ session }}/chat", Settings(agent_request=MESSAGE))


def test_query_with_other_values_than_variables_is_not_stored() -> None:
    def name(address: str) -> str:
        return load_http_agent(address, Settings(agent_request=MESSAGE)).name

    assert name("http://host/a?s={{session}}") == "http:http://host/a?s={{session}}"
    assert name("http://host/a?s={{session}}&key=hush") == "http:http://host/a?…"
    assert name("http://host/a?hush") == "http:http://host/a?…"


@pytest.mark.parametrize("ends", [True, False])
def test_bot_that_answers_202_is_polled_with_its_headers(bench: Workbench, ends: bool) -> None:
    suite(bench, WORK, timeout=60 if ends else 1)
    later = {"Location": "/jobs/1", "Retry-After": "0"}

    def answer(asked: Asked) -> Answered:
        if asked.method == "POST" or not ends or len(served.asked) < 4:
            return sends({}, 202, later)
        return sends({"result": 42})

    with Served(answer) as served:
        task_run = bench.run_one(
            f"{served.url}/chat", agent_request=MESSAGE, agent_reply="result", agent_headers=("X-Desk: seven",)
        )
    polls = [asked for asked in served.asked if asked.method == "GET"]
    assert {(asked.path, asked.headers["x-desk"]) for asked in polls} == {("/jobs/1", "seven")}
    assert task_run.verdict == ("pass" if ends else "fail")
    if not ends:
        seen = json.loads(bench.store.sidecar(task_run))["agent_job"]
        assert seen.endswith("the last answer was 202 '{}'.")
