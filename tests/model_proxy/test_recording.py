"""The agent's model calls are recorded with a run, and replayed without a provider."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clerkship.model.run import TaskRun
from clerkship.recording import recorded_calls
from clerkship.recording.recorded_calls import hide_stream, split_request
from clerkship.settings import Settings
from tests.actors.programs import WORK, program, suite
from tests.model_proxy.provider import KEY, Call, ModelProvider, Prescribed, Raw
from tests.workbench import Workbench

READ = Call("read_file", {"path": "a.txt"})
AGENT = """
import uuid
from urllib.error import HTTPError
from urllib.request import Request, urlopen

message = json.loads(sys.stdin.readline())
drop = message["sandboxes"]["drop"]

def post(messages, **more):
    body = {"model": "gpt-4o", "messages": messages, "metadata": {"run": str(uuid.uuid4())}, **more}
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    request = Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(), headers)
    while True:
        try:
            return urlopen(request).read()
        except HTTPError as error:
            if error.status != 503:
                raise

def ask(messages, **more):
    return json.loads(post(messages, **more))["choices"][0]["message"]
"""
LOOP = (
    AGENT
    + """
messages = [{"role": "user", "content": QUESTION + " " + drop["url"] + " " + drop["token"], "name": str(uuid.uuid4())}]
first = ask(messages)
call = first["tool_calls"][0]
messages += [first, {"role": "tool", "tool_call_id": call["id"], "content": "from " + drop["url"]}]
say({"answer": int(ask(messages)["content"])})
"""
)


@pytest.fixture
def provider() -> Iterator[ModelProvider]:
    with ModelProvider(READ, "42") as started:
        yield started


class Recorder:
    """Runs a program with a provider, and without one in a replay."""

    def __init__(self, bench: Workbench, provider: ModelProvider, folder: Path) -> None:
        self.bench, self.provider, self._folder = bench, provider, folder
        suite(bench, WORK)

    def run(self, mode: str, source: str, *answers: Prescribed, question: str = "How many?", **options: Any) -> TaskRun:
        """Run the task; the provider gives these answers."""
        if answers:
            self.provider.received.clear()
            self.provider.answers = list(answers)
        settings = Settings(openai_base_url=f"{self.provider.url}/v1", openai_api_key=KEY)
        if mode == "replay":
            settings = Settings()
        return self.bench.run_one(self.agent(source, question), settings=settings, judge="none", tape=mode, **options)

    def agent(self, source: str, question: str = "How many?") -> str:
        """Return the program as an agent."""
        return program(self._folder, f"QUESTION = {question!r}\n{source}")

    @property
    def cassette(self) -> bytes:
        return (self.bench.folder / "cassettes" / "a.jsonl").read_bytes()

    def log(self, task_run: TaskRun) -> list[bytes]:
        return list(self.bench.store.log(task_run))


@pytest.fixture
def recorder(bench: Workbench, provider: ModelProvider, tmp_path: Path) -> Recorder:
    return Recorder(bench, provider, tmp_path)


def test_run_is_replayed_without_a_provider_and_has_the_same_log(recorder: Recorder) -> None:
    first = recorder.run("record", LOOP)
    assert (first.verdict, first.agent_error) == ("pass", "")
    recorded = recorder.cassette
    recorder.provider.received.clear()
    again = recorder.run("replay", LOOP)
    assert (again.verdict, again.status, again.agent_error) == ("pass", "completed", "")
    assert recorder.log(again) == recorder.log(first)
    assert again.models["agent"] == first.models["agent"]
    assert recorder.provider.received == []
    assert recorder.cassette == recorded


def test_cassette_has_no_secrets_and_no_addresses(recorder: Recorder) -> None:
    recorder.run("record", LOOP)
    assert KEY.encode() not in recorder.cassette
    assert b"clk_" not in recorder.cassette
    assert b"127.0.0.1" not in recorder.cassette
    assert b"[token of drop]" in recorder.cassette


def test_second_recording_of_the_same_answers_is_the_same_file(recorder: Recorder) -> None:
    recorder.run("record", LOOP)
    recorded = recorder.cassette
    recorder.run("record", LOOP, READ, "42")
    assert recorder.cassette == recorded


def test_changed_prompt_is_an_error_that_shows_the_difference(recorder: Recorder) -> None:
    recorder.run("record", LOOP)
    missed = recorder.run("replay", LOOP, question="How many boxes?")
    assert (missed.status, missed.verdict) == ("errored", None)
    assert missed.error is not None
    assert "not recorded: a call of the agent to openai/chat/completions" in missed.error
    assert "-" in missed.error
    assert "How many boxes?" in missed.error
    assert "--refresh" in missed.error


def test_refused_request_names_itself_and_is_not_sent_again(recorder: Recorder) -> None:
    source = (
        AGENT
        + """
try:
    ask([{"role": "user", "content": QUESTION}])
except HTTPError as error:
    body = json.load(error)["error"]
    print(error.status, error.headers["x-should-retry"], body["code"], body["message"], file=sys.stderr)
say({"answer": 42})
"""
    )
    recorder.run("record", source, "42")
    missed = recorder.run("replay", source, question="Else?")
    stderr = json.loads(recorder.bench.store.sidecar(missed))["agent_stderr"]
    assert stderr.startswith("400 false not_recorded not recorded: a call of the agent to openai/chat/completions")


def test_refresh_asks_only_for_what_changed(recorder: Recorder) -> None:
    recorder.run("record", LOOP)
    recorder.run("refresh", LOOP, READ, "42")
    assert recorder.provider.received == []
    recorder.run("refresh", LOOP, READ, "42", question="How many boxes?")
    assert len(recorder.provider.received) == 2


def test_outage_is_not_the_agents_fault_and_keeps_what_was_recorded(recorder: Recorder) -> None:
    recorder.run("record", LOOP)
    recorded = recorder.cassette
    failed = recorder.run("record", LOOP, READ, Raw(500, b"{}", "application/json"))
    assert (failed.status, failed.verdict, failed.agent_error) == ("errored", None, "")
    assert failed.error.startswith("the provider answered with status 500; the agent then failed: ")
    assert recorder.cassette == recorded
    unreachable = Settings(openai_base_url="http://127.0.0.1:9/v1", openai_api_key=KEY)
    failed = recorder.bench.run_one(recorder.agent(LOOP), settings=unreachable, judge="none", tape="record")
    assert failed.error.startswith("127.0.0.1:9 cannot be reached: ")
    assert recorder.cassette == recorded


def test_limit_keeps_what_was_recorded(recorder: Recorder) -> None:
    recorder.run("record", LOOP)
    recorded = recorder.cassette
    stopped = recorder.run("record", LOOP, READ, "42", max_calls_per_trial=1)
    assert stopped.ending == "agent_failed"
    assert recorder.cassette == recorded


def test_run_without_a_key_keeps_what_was_recorded(recorder: Recorder) -> None:
    recorder.run("record", LOOP)
    recorded = recorder.cassette
    failed = recorder.bench.run_one(recorder.agent(LOOP), settings=Settings(), judge="none", tape="record")
    assert failed.verdict == "fail"
    assert recorder.cassette == recorded


def test_equal_requests_get_their_responses_in_order(recorder: Recorder) -> None:
    source = (
        AGENT
        + """
parts = [ask([{"role": "user", "content": "next"}])["content"] for _ in range(COUNT)]
say({"answer": int("".join(parts[:2]))})
"""
    )
    assert recorder.run("record", "COUNT = 2\n" + source, "4", "2").verdict == "pass"
    assert recorder.run("replay", "COUNT = 2\n" + source).verdict == "pass"
    beyond = recorder.run("replay", "COUNT = 3\n" + source)
    assert beyond.status == "errored"
    assert "number 3 of equal ones" in str(beyond.error)
    assert "recorded 2 times" in str(beyond.error)


def test_errors_upon_which_a_client_tries_again_are_not_recorded(recorder: Recorder) -> None:
    source = AGENT + 'say({"answer": int(ask([{"role": "user", "content": "x"}])["content"])})'
    recorder.run("record", source, Raw(503, b"{}"), "42")
    assert len(recorder.provider.received) == 2
    assert recorder.run("replay", source).verdict == "pass"


def test_response_that_broke_off_does_not_count(recorder: Recorder) -> None:
    source = (
        AGENT
        + """
content = None
while content is None:
    try:
        content = ask([{"role": "user", "content": "x"}])["content"]
    except HTTPError:
        pass
say({"answer": int(content)})
"""
    )
    recorder.run("record", source, Raw(200, b'{"choices"', promised=100), "42")
    assert len(recorder.provider.received) == 2
    assert recorder.run("replay", source).verdict == "pass"


@pytest.mark.parametrize("asked", [{}, {"stream_options": {"include_usage": True}}])
def test_stream_is_replayed_with_its_tokens(recorder: Recorder, asked: dict[str, Any]) -> None:
    source = (
        AGENT
        + f"""
data = post([{{"role": "user", "content": "x"}}], stream=True, **{asked!r}).decode()
texts = [json.loads(line[6:]) for line in data.splitlines() if line.startswith("data: {{")]
pieces = [choice["delta"].get("content") or "" for text in texts for choice in text["choices"]]
say({{"answer": int("".join(pieces)) if ("usage" in data) == {bool(asked)} else 0}})
"""
    )
    first = recorder.run("record", source, "42")
    again = recorder.run("replay", source)
    assert [first.verdict, again.verdict] == ["pass", "pass"]
    assert recorder.log(again) == recorder.log(first)
    assert again.models["agent"].prompt_tokens == 100


def test_address_in_an_answer_is_that_of_the_replay(recorder: Recorder) -> None:
    source = (
        AGENT
        + """
asked = [{"role": "user", "content": "Repeat " + drop["url"] + "/files " + drop["token"]}]
data = post(asked, stream=True).decode()
texts = [json.loads(line[6:]) for line in data.splitlines() if line.startswith("data: {")]
said = "".join(choice["delta"].get("content") or "" for text in texts for choice in text["choices"])
url, token = said.split()
urlopen(Request(url, headers={"Authorization": "Bearer " + token})).read()
say({"answer": 42})
"""
    )

    def repeat(data: dict[str, Any]) -> str:
        return str(data["messages"][0]["content"]).removeprefix("Repeat ")

    recorder.provider.repeat = repeat
    first = recorder.run("record", source)
    assert (first.verdict, first.agent_error) == ("pass", "")
    again = recorder.run("replay", source)
    assert (again.verdict, again.agent_error) == ("pass", "")
    assert recorder.log(again) == recorder.log(first)
    [called] = [event for event in recorder.bench.events(first) if event["kind"] == "agent.model.called"]
    assert "[token of drop]" in json.dumps(called["payload"])


def test_run_without_recorded_calls_is_replayed_as_before(recorder: Recorder) -> None:
    source = 'say({"answer": 42 if "clk_" not in os.environ.get("OPENAI_API_KEY", "") else 0})'
    recorder.run("record", source)
    assert recorder.run("replay", source).verdict == "pass"


def test_request_is_compared_without_what_differs_in_every_run() -> None:
    one = {"model": "m", "user": "a", "messages": [{"id": "pyd_0b1c2d3e-1111-4222-8333-444455556666"}], "seed": 1}
    other = {"model": "m", "user": "b", "messages": [{"id": "pyd_ffffffff-2222-4222-8333-444455556666"}], "seed": 1}
    assert list(split_request(one, str)) == list(split_request(other, str))
    assert list(split_request(one, str)) != list(split_request({**one, "seed": 2}, str))
    twice = {
        "messages": [{"id": "0b1c2d3e-1111-4222-8333-444455556666"}, {"id": "0b1c2d3e-1111-4222-8333-444455556667"}]
    }
    assert "[id 2]" in list(split_request(twice, str))[-1]


def test_recording_with_the_date_in_the_prompt_is_replayed_on_another_day(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode, day in (("record", datetime(2026, 11, 19, 12, tzinfo=UTC)), ("replay", datetime(2027, 1, 2, tzinfo=UTC))):
        monkeypatch.setattr(recorded_calls, "now", lambda day=day: day)
        done = recorder.run(mode, LOOP, question=f"Today is {day:%A, %B %d, %Y}. How many?")
        assert (done.error, done.verdict) == ("", "pass")


def test_working_folder_is_hidden_also_within_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def split(name: str, text: str) -> list[str]:
        (tmp_path / name / "work").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / name / "work")
        body = {"messages": [{"content": text.format(Path.cwd())}]}
        return list(split_request(body, str))

    assert split("one", "In\n{0}\nand {0}/a.txt.") == split("other", "In\n{0}\nand {0}/a.txt.")
    monkeypatch.setattr(Path, "cwd", lambda: Path("/work"))
    body = {"messages": [{"content": "home/work, /workflow, the-/work"}]}
    assert "[folder]" not in "".join(split_request(body, str))


def test_what_differs_between_runs_of_installed_programs_is_hidden() -> None:
    def split(private: str, time: float) -> list[str]:
        passthrough = {"create_time": time, "turn_id": f"turn {time}"}
        text = f"Working directory: {private}\nRead {private}/clerkship_task_file.json."
        item = {"content": text, "internal_chat_message_metadata_passthrough": passthrough}
        return list(split_request({"input": [item, "text"]}, str))

    one = split("/desk/.clerkship/store.db.private/run-a_b1c2d3/clerkship-q1w2e3r4", 1.5)
    assert one == split("/srv/other/store.db.private/run-x9y8z7w6/clerkship-a_s_d_f_", 2.5)
    assert "[private folder]/clerkship_task_file.json." in one[1]


def test_secret_that_several_events_share_is_hidden() -> None:
    pieces = ["the tok", "en is se", "cret-w", "ord here"]
    deltas = [{"index": 0, "delta": {"type": "text_delta", "text": piece}} for piece in pieces]
    stream = "".join(f"event: delta\ndata: {json.dumps(delta)}\n\n" for delta in deltas)
    hidden = "".join(hide_stream(stream + "data: [DONE]\n\n", lambda text: text.replace("secret-word", "[hidden]")))
    texts = [json.loads(line[6:])["delta"]["text"] for line in hidden.splitlines() if line.startswith("data: {")]
    assert "".join(texts) == "the token is [hidden] here"
    assert len(texts) == 4
    assert hidden.endswith("data: [DONE]\n\n")
