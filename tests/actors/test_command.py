"""Agents that are programs: their messages, their answers, and the cleanup of their processes."""

import asyncio
import json
import os
import re
import shlex
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.actors.command import load_command
from clerkship.actors.contract import AgentStopped
from clerkship.actors.process_pipes import MAX_STDERR_BYTES
from clerkship.actors.reply import MAX_REPORTS
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.settings import Settings, get_inherited_environment, get_program_environment
from tests.actors.programs import TALK, WORK, gone, program, running, suite
from tests.choices import mark_slow_after
from tests.processes import start_process
from tests.waiting import wait_until
from tests.workbench import Workbench


def sidecar(bench: Workbench, task_run: TaskRun) -> dict[str, Any]:
    """Return the sidecar of a trial."""
    found: dict[str, Any] = orjson.loads(bench.store.sidecar(task_run))
    return found


def test_conversation_is_exchanged_in_json_lines(bench: Workbench, tmp_path: Path) -> None:
    agent = program(
        tmp_path,
        """
        for line in sys.stdin:
            message = json.loads(line)
            with open(os.environ["CLERKSHIP_TASK_FILE"]) as file: first = json.load(file)
            assert (first["turn"], first["sandboxes"]) == (1, message["sandboxes"])
            say({"report": {"kind": "agent.slot.set", "name": "turn", "value": message["turn"]}})
            print(file=sys.stderr, *sorted(message))
            say({"say": None if message["turn"] > 3 else
                 ["first", {"text": "bye", "utter_name": "utter_bye"}] if message["turn"] == 3 else "go on"})
        """,
    )
    suite(bench, TALK)
    task_run = bench.run_one(agent)
    assert (task_run.verdict, task_run.agent_error, task_run.ending) == ("pass", "", "person_done")
    slots = [e["payload"]["value"] for e in bench.events(task_run) if e["kind"] == "agent.slot.set"]
    assert slots == [1, 2, 3]
    facts = sidecar(bench, task_run)
    keys = "clock mcp metadata now sandbox sandboxes slots task_item text traces turn type"
    assert facts["agent_stderr"].splitlines()[0] == keys
    assert facts["agent_exit_code"] == 0


def test_task_message_contains_addresses_and_tokens_of_sandboxes(bench: Workbench, tmp_path: Path) -> None:
    agent = program(
        tmp_path,
        """
        from urllib.request import Request, urlopen
        message = json.loads(sys.stdin.readline())
        assert message["type"] == "task" and message["task_item"]["instruction"].startswith("What")
        place = os.environ["CLERKSHIP_TASK_FILE"]
        assert json.load(open(place)) == message
        assert os.stat(place).st_mode & 0o777 == 0o600 and os.stat(os.path.dirname(place)).st_mode & 0o777 == 0o700
        drop, clock = message["sandboxes"]["drop"], message["clock"]
        assert drop["kind"] == "files"
        assert not any(drop["token"] in value for value in os.environ.values())
        bearer = {"Authorization": "Bearer " + drop["token"]}
        urlopen(Request(drop["url"] + "/files/out.txt", b"done", bearer, method="PUT"))
        bearer = {"Authorization": "Bearer " + clock["token"]}
        later = json.load(urlopen(Request(clock["url"] + "/advance?by=10m", b"", bearer, method="POST")))
        assert later["now"] > message["now"]
        print(place, file=sys.stderr)
        say({"report": [{"kind": "agent.action.executed", "name": "multiply", "arguments": {"by": 7}}]})
        say({"answer": 42})
        """,
    )
    suite(bench, WORK)
    task_run = bench.run_one(agent)
    assert (task_run.verdict, task_run.agent_error) == ("pass", "")
    assert {"files.file.written", "agent.action.executed"} <= set(bench.kinds(task_run))
    place = Path(sidecar(bench, task_run)["agent_stderr"].strip())
    assert not place.exists()
    assert not place.parent.exists()


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("", None),
        ("say({'answer': None})", None),
        ("say({'answer': {'a': [1]}})", {"a": [1]}),
        ("print(); say({'answer': 1}); time.sleep(60)", 1),
        ("sys.stdout.write(json.dumps({'answer': 'no end of line'}))", "no end of line"),
        ("print('  The answer'); print(); print('is 42.  ')", "The answer\n\nis 42."),
        ("print(42)", "42"),
        ("print('INFO ready'); print('{ \"answer\" : 42 }')", 42),
        ("print('{ \"answer\" : 42 }')", 42),
        ("print('INFO ready'); say({'report': {'kind': 'agent.flow.started', 'flow_id': 'f'}})", None),
        ("print('{'); print('}')", "{\n}"),
        ("os.close(0); say({'answer': 'reads nothing'})", "reads nothing"),
        ("say({'report': {'kind': 'agent.flow.started', 'flow_id': 'f'}})", None),
        ("subprocess.Popen(['sleep', '60']); print('a child holds the pipe')", "a child holds the pipe"),
    ],
)
def test_answer_is_a_message_or_the_whole_output(bench: Workbench, tmp_path: Path, source: str, answer: Any) -> None:
    suite(bench, WORK)
    task_run = bench.run_one(program(tmp_path, source))
    assert (task_run.agent_error, task_run.ending, task_run.answer) == ("", "agent_done", answer)


def test_reports_after_a_log_line_are_logged(bench: Workbench, tmp_path: Path) -> None:
    suite(bench, WORK)
    source = "print('ready'); say({'report': {'kind': 'agent.flow.started', 'flow_id': 'f'}}); say({'answer': 7})"
    task_run = bench.run_one(program(tmp_path, source))
    assert (task_run.agent_error, task_run.answer) == ("", 7)
    assert "agent.flow.started" in bench.kinds(task_run)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("print('oh no', file=sys.stderr); sys.exit(3)", "it ended with exit code 3\noh no"),
        ("print('half an answer'); sys.exit(4)", "it ended with exit code 4"),
        ("1/0", "ZeroDivisionError: division by zero"),
        ("print('{\"answer\": NaN}'); print('mind', file=sys.stderr)", "is not JSON: '{\"answer\": NaN}'\nmind"),
        ("say({'answer': 1, 'mood': 2})", "has `mood` beside `answer`"),
        (
            "say({'log': 1}); say({'answer': 1})",
            'is not a message: \'{"log": 1}\'; expected {"answer": …}',
        ),
        ("print('ready'); say({'say': 'hello'})", "has no `answer`; found: 'say'"),
        ("say({'say': 'hello'})", "has no `answer`; found: 'say'"),
        ("say({'answer': 'x' * 2_000_000})", "2,000,000 characters"),
        ("print('{\"' + 'x' * 9_000_000)", "a line of more than 8,000,000 bytes"),
        ("print(('x' * 999 + '\\n') * 5_000)", "it printed more than 1,000,000 characters"),
        ("say({'report': {'kind': 'agent.slot.sett', 'name': 'x'}})", "did you mean `agent.slot.set`"),
        ("say({'report': {'kind': 'agent.slot.set', 'nam': 'x'}})", "invalid report of agent.slot.set: nam"),
        ("say({'report': 5})", "a report must be a map with `kind`, not int 5"),
        ("os.kill(os.getpid(), 9)", "exit code 137"),
        ("say({'answer': 42}); sys.exit(3)", "it ended with exit code 3 after its last message"),
        ("print('42'); say({'answer': 42}); 1/0", "exit code 1 after its last message\nTraceback"),
        ("say({'answer': 42}); print('x' * 200_000); sys.exit(3)", "it ended with exit code 3 after its last message"),
        ("say({'answer': 10 ** 400})", "a line it wrote has a number that is too large (the limit is 1.8e+308): '{"),
        ("print('{\"answer\": ' + '[' * 3_000 + ']' * 3_000 + '}')", "is nested more than 64 levels deep: '{"),
        ("print('{\"answer\": ' + '[' * 70 + ']' * 70 + '}')", "its answer is nested more than 64 levels deep"),
        ("say({'answer': '\\ud800'})", "has half of a surrogate pair in a text"),
        (
            f"r = {{'kind': 'agent.slot.set', 'name': 'x'}}\nsay({{'report': [r] * {MAX_REPORTS + 1}}})",
            "more than 10,000 events",
        ),
    ],
)
def test_invalid_answer_is_the_agents_error(bench: Workbench, tmp_path: Path, source: str, said: str) -> None:
    suite(bench, WORK)
    task_run = bench.run_one(program(tmp_path, source))
    assert (task_run.status, task_run.ending) == ("completed", "agent_failed")
    assert said in task_run.agent_error


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("sys.stdin.readline()", "ended with exit code 0 during the conversation, in turn 1"),
        ("say({'say': 'a'}); print('tired', file=sys.stderr); sys.exit(5)", "exit code 5 during the conv"),
        ("os.close(1); time.sleep(60)", "closed its output during the conversation"),
        (
            "print('Loading the model ...'); say({'say': 'a'})",
            "a line it wrote is not JSON: 'Loading the model ...'; expected {\"say\": …}; print logs to standard error",
        ),
        ("say({'log': 1}); say({'say': 'a'})", 'is not a message: \'{"log": 1}\'; expected {"say": …}'),
        ("print({'say': 'a'})", "is not JSON: \"{'say': 'a'}\"; write it with json.dumps"),
        ("print('[1]')", "a line it wrote is not a JSON object"),
        ("say({'answer': 1})", "has no `say`"),
        ("say({'say': 5})", "it returned int 5"),
    ],
)
def test_exit_during_a_conversation_is_the_agents_error(
    bench: Workbench, tmp_path: Path, source: str, said: str
) -> None:
    suite(bench, TALK)
    # Bubblewrap holds the output open for as long as its program runs.
    mode = "never" if "os.close" in source else "auto"
    task_run = bench.run_one(program(tmp_path, source), isolate=mode)
    assert (task_run.status, task_run.ending) == ("completed", "agent_failed")
    assert said in task_run.agent_error


def test_exit_after_the_last_message_counts_unless_we_stopped_the_program(bench: Workbench, tmp_path: Path) -> None:
    suite(bench, WORK)
    stopped = [
        "say({'answer': 42}); input(); input()",  # EOFError when its input is closed
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(3)); say({'answer': 42}); time.sleep(60)",
        "say({'answer': 42}); subprocess.run([sys.executable, '-I', '-S', '-c', 'input(); input()']); sys.exit(4)",
    ]
    for source in stopped:
        task_run = bench.run_one(program(tmp_path, source))
        assert (task_run.agent_error, task_run.verdict, task_run.answer) == ("", "pass", 42), source
    failed = bench.run_one(program(tmp_path, "say({'answer': 42}); sys.exit(3)"))
    assert (failed.verdict, failed.answer) == ("fail", 42)
    suite(bench, TALK)
    failed = bench.run_one(program(tmp_path, "say({'say': 'bye'}); sys.exit(3)"))
    assert (failed.verdict, failed.ending) == ("fail", "agent_failed")
    assert failed.agent_error == "it ended with exit code 3 after its last message"
    assert bench.run_one(program(tmp_path, "say({'say': 'bye'})")).verdict == "pass"
    assert bench.run_one(program(tmp_path, "say({'say': 'bye'}); input(); input()")).verdict == "pass"


FAMILY = """
    me = os.path.abspath(__file__)
    def child(sort):
        subprocess.Popen([sys.executable, "-I", "-S", me, sort], stdin=subprocess.DEVNULL,
                         start_new_session=sort == "setsid")
    def born(sort):
        with open(os.path.join(os.path.dirname(me), sort + ".pid.tmp"), "w") as file:
            file.write(str(os.getpid()))
        os.rename(file.name, file.name[:-4])
    sorts = ["plain", "deaf", "setsid", "daemon"]
    sort = sys.argv[1] if len(sys.argv) > 1 else "main"
    if sort in ("deaf", "main", "daemon"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sort == "daemon":
        if os.fork(): os._exit(0)
        os.setsid()
        if os.fork(): os._exit(0)
    born(sort)
    if sort == "main":
        for each in sorts: child(each)
        folder = os.path.dirname(me)
        while not all(os.path.exists(os.path.join(folder, each + ".pid")) for each in sorts): time.sleep(0.01)
        print("all there", file=sys.stderr, flush=True)
        with open(os.path.join(folder, "ready"), "w"): pass
    while True: time.sleep(60)
"""


def family(folder: Path) -> int:
    """Return how many processes of the program have started."""
    return len(list(folder.rglob("*.pid")))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="other systems have process groups alone")
def test_timeout_ends_the_program_and_its_child_processes(bench: Workbench, tmp_path: Path) -> None:
    suite(bench, WORK, timeout=3)
    task_run = bench.run_one(program(tmp_path, FAMILY))
    assert (task_run.status, task_run.verdict, task_run.agent_error) == ("timed_out", "fail", "")
    assert family(tmp_path) == 5
    assert gone(running(tmp_path))
    facts = sidecar(bench, task_run)
    assert (facts["agent_stderr"], facts["agent_ended_by"]) == ("all there\n", "SIGKILL")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="other systems have process groups alone")
@pytest.mark.parametrize("strokes", mark_slow_after(1, [1, 2]))
def test_ctrl_c_ends_all_programs(tmp_path: Path, strokes: int) -> None:
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "a.yml").write_text("task: {name: Wait, criteria: []}\n", encoding="utf-8")
    reference = program(tmp_path, FAMILY)
    command = [sys.executable, "-m", "clerkship", "run", "suite", "-a", reference, "--store", "s.db", "-k", "3"]
    with start_process([*command, "-c", "1"], cwd=tmp_path, stdout=-1, stderr=-1) as process:
        wait_until(lambda: (tmp_path / "agent" / "ready").exists() or process.poll() is not None)
        assert process.poll() is None
        for _ in range(strokes):
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert process.returncode in (130, -signal.SIGINT), output + errors
    assert family(tmp_path) == 5
    assert gone(running(tmp_path))
    if strokes == 1:
        assert "cancelled" in output
        assert "2 not run" in output


def test_program_that_ends_on_closed_input_is_not_killed(bench: Workbench, tmp_path: Path) -> None:
    agent = program(
        tmp_path,
        """
        def leave(*_):
            print("farewell", file=sys.stderr, flush=True)
            sys.exit(0)
        signal.signal(signal.SIGTERM, leave)
        say({"answer": 42})
        while True: time.sleep(60)
        """,
    )
    suite(bench, WORK)
    task_run = bench.run_one(agent)
    assert task_run.verdict == "pass"
    facts = sidecar(bench, task_run)
    assert (facts["agent_stderr"], facts["agent_ended_by"]) == ("farewell\n", "SIGTERM")


def test_large_output_does_not_fill_the_memory(bench: Workbench, tmp_path: Path) -> None:
    """Only the end of standard error is stored; unread standard output stays in the pipe."""
    agent = program(
        tmp_path,
        """
        for number in range(200_000): print("complaint", number, file=sys.stderr)
        sys.stderr.flush()
        say({"answer": 42})
        while True: print("x" * 1000)
        """,
    )
    suite(bench, WORK)
    task_run = bench.run_one(agent)
    assert task_run.verdict == "pass"
    kept = sidecar(bench, task_run)["agent_stderr"]
    assert "complaint 199999\n" in kept
    assert len(kept) <= MAX_STDERR_BYTES


def test_program_that_does_not_read_its_input_does_not_block(bench: Workbench, tmp_path: Path) -> None:
    bench.write("a.yml", WORK.replace("{timeout}", "20").replace("What is", "x" * 300_000))
    task_run = bench.run_one(program(tmp_path, "say({'answer': 42}); time.sleep(60)"))
    assert task_run.verdict == "pass"


def test_program_inherits_the_environment_without_clerkship_settings(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLERKSHIP_WEBHOOK_SECRET", "hush")
    monkeypatch.setenv("CLERKSHIP_OPENAI_API_KEY", "hush")
    monkeypatch.setenv("A_SETTING_OF_THE_AGENTS", "here")
    names = "sorted(n for n in os.environ if n.startswith(('CLERKSHIP', 'A_SETTING')))"
    suite(bench, WORK)
    task_run = bench.run_one(program(tmp_path, f"say({{'answer': {names}}})"))
    assert task_run.answer == [
        "A_SETTING_OF_THE_AGENTS",
        "CLERKSHIP_MCP_TOKEN",
        "CLERKSHIP_MCP_URL",
        "CLERKSHIP_PROCESS",
        "CLERKSHIP_TASK_FILE",
    ]
    assert get_inherited_environment({"CLERKSHIP_SEED": "1", "PATH": "p"}) == {"PATH": "p"}
    assert get_program_environment({"CLERKSHIP_SEED": "1", "NO_PROXY": "a"}) == {"NO_PROXY": "a"}


@pytest.mark.parametrize(
    ("given", "lower", "upper"),
    [
        ({}, "127.0.0.1,localhost,::1", "127.0.0.1,localhost,::1"),
        ({"NO_PROXY": "a.org, ::1"}, "a.org,::1,127.0.0.1,localhost", "a.org,::1,127.0.0.1,localhost"),
        ({"no_proxy": "a", "NO_PROXY": "b"}, "a,127.0.0.1,localhost,::1", "b,127.0.0.1,localhost,::1"),
        ({"no_proxy": "*"}, "*", "*"),
    ],
)
def test_proxy_of_the_environment_excepts_the_run(given: dict[str, str], lower: str, upper: str) -> None:
    environment = get_program_environment({"HTTPS_PROXY": "http://proxy:1", **given})
    assert (environment["no_proxy"], environment["NO_PROXY"]) == (lower, upper)


def test_each_trial_has_its_own_program_and_they_run_concurrently(bench: Workbench, tmp_path: Path) -> None:
    agent = program(
        tmp_path,
        """
        folder = os.path.dirname(os.path.abspath(__file__))
        open(os.path.join(folder, os.environ["CLERKSHIP_PROCESS"] + ".here"), "w").close()
        until = time.monotonic() + 15
        while sum(name.endswith(".here") for name in os.listdir(folder)) < 4 and time.monotonic() < until:
            time.sleep(0.01)
        say({"answer": 42 if time.monotonic() < until else "alone"})
        """,
    )
    suite(bench, WORK)
    assert [t.verdict for t in bench.run(agent, trials=4, concurrency=4)] == ["pass"] * 4


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("", "no command"),
        ("no-such-program-at-all --x", "no program `no-such-program-at-all`"),
        ("./not_executable.py", "make it executable"),
        ("node 'unclosed", "no closing quotation"),
    ],
)
def test_command_that_cannot_be_run_is_rejected_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "not_executable.py").touch()
    with pytest.raises(InputError, match=said):
        load_command(rest, Settings())


def test_a_program_that_the_system_will_not_start_is_the_agents_error(bench: Workbench, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    suite(bench, WORK)
    task_run = bench.run_one(f"command:{shlex.quote(str(broken))}", isolate="never")
    assert task_run.ending == "agent_failed"
    assert "could not be started: Exec format error" in task_run.agent_error


def test_agent_closed_from_another_thread_gives_no_answer(tmp_path: Path) -> None:
    agent: Any = load_command(program(tmp_path, "time.sleep(60)").removeprefix("command:"), Settings()).open(None)
    agent._process.start(os.environ, {})
    found: list[type[BaseException]] = []

    def waits() -> None:
        try:
            asyncio.run(agent._process.receive())
        except BaseException as error:
            found.append(type(error))

    thread = threading.Thread(target=waits)
    thread.start()
    agent.close()
    thread.join(10)
    assert found == [AgentStopped]
    with pytest.raises(AgentStopped):
        agent._process.start(os.environ, {})


def test_agent_can_be_closed_twice_and_from_another_thread(tmp_path: Path) -> None:
    solver = load_command(program(tmp_path, "time.sleep(60)").removeprefix("command:"), Settings())
    agent: Any = solver.open(None)
    agent._process.start(os.environ, {})
    child = agent._process._child.pid
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(agent.close()))
    thread.start()
    thread.join(10)
    assert found == [{"agent_ended_by": "SIGTERM"}]
    assert gone([child])
    assert agent.close() == {}
    assert json.dumps(solver.open(None).close()) == "{}"


def test_credentials_in_a_programs_stderr_are_not_logged(bench: Workbench, tmp_path: Path) -> None:
    suite(bench, WORK)
    leaks = tmp_path / "leaks.py"
    leaks.write_text(
        "import json, os, sys\n"
        "message = json.load(open(os.environ['CLERKSHIP_TASK_FILE']))\n"
        "print(json.dumps(message), file=sys.stderr)\n"
        "drop = message['sandboxes']['drop']\n"
        "print({'TOKEN': drop['token'], 'URL': drop['url'], 'PORT': str(drop['sftp']['port'])}, file=sys.stderr)\n"
        "sys.exit(3)\n"
    )
    reference = f"command:{shlex.quote(sys.executable)} {shlex.quote(str(leaks))}"
    first, second = bench.run_one(reference), bench.run_one(reference)
    assert "[token of drop]" in first.agent_error
    assert "clk_sbx_" not in first.agent_error
    assert not re.search(r"127\.0\.0\.1:\d|PORT': '\d", first.agent_error)  # the host is the same everywhere
    assert first.head == second.head
    bench.store.close()
    kept = b"".join(path.read_bytes() for path in bench.store.path.parent.glob("store.db*"))
    assert b"openssh-key" not in kept
    assert b"b3BlbnNzaC1rZXk" not in kept  # how a private key of OpenSSH begins
    assert b"clk_sbx_" not in kept
