"""`clerkship up`, `read_log` and `check`, with real processes and curl."""

import http.client
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from clerkship.cli.app import run
from tests.cli.terminal import Process, UpProcess, clerkship
from tests.waiting import wait_until

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
SUITE = """
    environment:
      name: clinic
      simulators: {drop: {kind: files}, chat: {kind: chat}}
    tasks:
      - name: File the referral
        task_item: {instruction: "File what lies in inbox/."}
        scenario:
          steps:
            - files.drop: {path: inbox/a.txt, text: REFERRAL}
            - {at: +20m, files.drop: {path: inbox/late.txt, text: LATE}}
        criteria:
          - {label: filed, gate: true, assertion: {file_present: {path: filed/a.txt, text: {contains: REFERRAL}}}}
          - {label: scanned, assertion: {file_present: {path: filed/scan.bin}}}
          - {label: said so, assertion: {answer_matches: {fields: [{path: filed, expected: 2}]}}}
      - name: Calm the father
        scenario:
          starts: person
          person:
            opening: I need the inhaler.
            script: [{when: (?i)birth, say: "2018-05-04"}]
            fallback: Pardon?
            end: {when: (?i)ready, say: Bye!}
        criteria:
          - label: asked
            assertion: {event_occurred: {event: chat.message.sent, actor: agent, where: {text: {contains: birth}}}}
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with a suite."""
    write_suite(tmp_path, SUITE)
    return tmp_path


def write_suite(folder: Path, text: str) -> None:
    (folder / "suite").mkdir(exist_ok=True)
    (folder / "suite" / "clinic.yml").write_text(dedent(text), encoding="utf-8")


class CommandResult(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


RunCommand = Callable[..., CommandResult]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Run a command in this process; most of these tests are about the process of `up`."""
    monkeypatch.chdir(tmp_path)

    def type_in(*arguments: str) -> CommandResult:
        code = run(list(arguments))
        output = capsys.readouterr()
        return CommandResult(code, output.out, output.err)

    return type_in


def send_request(method: str, url: str, token: str, body: bytes = b"") -> tuple[int, bytes]:
    """Send a request and return status and body."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    try:
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request(method, path, body or None, {"Authorization": f"Bearer {token}"})
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def read_state(up: UpProcess) -> dict[str, Any]:
    """Return the state that the control API reports."""
    status, body = send_request("GET", *up.control())
    assert status == 200
    found: dict[str, Any] = json.loads(body)
    return found


def read_log(up: UpProcess) -> list[dict[str, Any]]:
    """Return the log from the control API."""
    url, token = up.control()
    return [json.loads(line) for line in send_request("GET", f"{url}/log", token)[1].splitlines()]


@pytest.mark.long
@needs_curl
def test_sandbox_is_used_with_curl_and_checked_from_a_second_terminal(desk: Path, typed: RunCommand) -> None:
    scan = desk / "scan.bin"
    scan.write_bytes(bytes(range(256)) * 4000)
    with UpProcess(desk, "clinic", "--from", "suite", "--task", "File the") as up:
        assert up.document["environment"] == "clinic"
        assert up.document["task"] == "File the referral"
        assert up.document["task_item"] == {"instruction": "File what lies in inbox/."}
        [file] = (desk / ".clerkship" / "up").iterdir()
        assert (file.name, stat.S_IMODE(file.stat().st_mode)) == ("clinic.json", 0o600)
        listed = subprocess.run(
            up.document["sandboxes"]["drop"]["curl"], shell=True, capture_output=True, check=True, timeout=120
        )
        assert [found["path"] for found in json.loads(listed.stdout)["files"]] == ["inbox/a.txt"]

        before = typed("check")
        assert before.code == 1
        assert "✗ filed (gate)" in before.out
        assert "expected at least 1" in before.out

        url, token = up.way("drop")
        assert send_request("GET", f"{url}/files/inbox/a.txt", token) == (200, b"REFERRAL")
        assert send_request("PUT", f"{url}/files/filed/a.txt", token, b"REFERRAL")[0] == 201
        curl = ["curl", "-sSf", "-H", f"Authorization: Bearer {token}", "-T", str(scan), f"{url}/files/filed/scan.bin"]
        subprocess.run(curl, check=True, timeout=20)

        done = clerkship(desk, "check", "file the referral", "--json")
        found = json.loads(done.stdout)
        assert done.returncode == found["exit_code"] == 1
        assert {c["label"]: c["passed"] for c in found["criteria"] if not c.get("monitor")} == {
            "The agent acted": True,
            "filed": True,
            "scanned": True,
            "said so": False,
        }
        assert "no answer" in found["criteria"][2]["detail"]
        assert "--answer" in found["notes"][0]
        told = clerkship(desk, "check", "--answer", '{"filed": 2}')
        assert told.returncode == 0, told.stdout
        assert "✓ said so" in told.stdout
        assert typed("check", "--answer", '{"filed": 3}').code == 1
        assert "is not JSON" in typed("check", "--answer", "done").err

        kinds = [event["kind"] for event in json.loads(typed("events", "--json", "--kind", "files.*").out)["events"]]
        assert kinds == ["files.file.written", "files.folder.listed", "files.file.read"] + ["files.file.written"] * 2
        seq = read_log(up)[-1]["seq"]
        assert typed("events", "--after", str(seq - 1)).out.startswith(f"#{seq} ")
        assert "files.file.read agent" in clerkship(desk, "events").stdout

        stopped = up.stop()
    assert (stopped.code, stopped.out, stopped.err) == (0, "", "")
    assert not (desk / ".clerkship").exists()


@needs_curl
def test_clock_moves_by_waiting_and_runs_scheduled_steps(desk: Path) -> None:
    with UpProcess(desk, "--from", "suite", "--task", "File the referral") as up:
        url, token = up.way("drop")
        assert send_request("GET", f"{url}/files/inbox/late.txt", token)[0] == 404
        subprocess.run([*_split_words(up.document["clock"]["curl"])], check=True, timeout=20, capture_output=True)
        subprocess.run([*_split_words(up.document["clock"]["curl"])], check=True, timeout=20, capture_output=True)
        assert send_request("GET", f"{url}/files/inbox/late.txt", token) == (200, b"LATE")


def _split_words(curl: str) -> list[str]:
    done = subprocess.run(f"printf '%s\\n' {curl}", shell=True, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.splitlines()


def test_paced_playground_runs_scheduled_steps_without_requests(desk: Path) -> None:
    write_suite(
        desk,
        """
        environment: {name: clinic, time: paced, simulators: {drop: {kind: files}}}
        task: {name: A, scenario: [{at: +1s, files.drop: {path: a.txt, text: now}}]}
        """,
    )
    with UpProcess(desk, "--from", "suite", "--task", "A") as up:
        wait_until(lambda: read_state(up)["events"] == 4, "the file arrived by itself")
        assert [event["kind"] for event in read_log(up)][2:] == ["files.file.written", "scenario.step.ran"]


def test_person_converses_with_an_agent_over_http(desk: Path, typed: RunCommand) -> None:
    with UpProcess(desk, "--from", "suite", "--task", "Calm the father") as up:
        url, token = up.way("chat")
        assert _read_messages(url, token) == [("person", "I need the inhaler.")]
        assert send_request("POST", f"{url}/messages", token, b'{"text": "The date of birth?"}')[0] == 201
        assert _read_messages(url, token)[1:] == [("agent", "The date of birth?"), ("person", "2018-05-04")]
        assert send_request("POST", f"{url}/messages", token, b'{"text": "It is ready."}')[0] == 201
        assert _read_messages(url, token)[3:] == [("agent", "It is ready."), ("person", "Bye!")]
        assert send_request("POST", f"{url}/messages", token, b'{"text": "Hello?"}')[0] == 409
        assert read_state(up)["left"] == {"chat": "person_done"}
        assert typed("check").code == 0


def _read_messages(url: str, token: str) -> list[tuple[str, str]]:
    status, body = send_request("GET", f"{url}/messages", token)
    assert status == 200
    return [(message["from"], message["text"]) for message in json.loads(body)["messages"]]


def test_control_api_accepts_only_its_own_token_and_logs_nothing(desk: Path) -> None:
    with UpProcess(desk, "--from", "suite") as up:
        control, own = up.control()
        drop, sandbox = up.way("drop")
        first = read_state(up)
        for path in ("/", "/log", "/blob/00", "/nothing"):
            assert send_request("GET", control + path, "wrong")[0] == 401
            assert send_request("GET", control + path, sandbox)[0] == 401
        assert send_request("GET", f"{drop}/files", own)[0] == 401
        assert send_request("GET", up.document["clock"]["url"], own)[0] == 401
        assert send_request("POST", f"{control}/log", own)[0] == 405
        assert send_request("GET", f"{control}/log?after=-1", own)[0] == 400
        assert send_request("GET", f"{control}/blob/../../clinic.json", own)[0] == 404
        assert send_request("GET", f"{control}/nothing", own)[0] == 404
        assert send_request("GET", f"{control}/log?after=999999", own) == (200, b"")
        status, lines = send_request("GET", f"{control}/log", own)
        assert (status, lines.count(b"\n")) == (200, 1)
        assert read_state(up) == first
        assert own not in json.dumps(up.document)


def test_check_uses_edited_criteria_but_rejects_an_edited_environment(desk: Path, typed: RunCommand) -> None:
    with UpProcess(desk, "--from", "suite", "--task", "File the referral") as up:
        url, token = up.way("drop")
        send_request("PUT", f"{url}/files/filed/b.txt", token, b"REFERRAL")
        assert typed("check").code == 1
        edited = SUITE.replace("path: filed/a.txt", "path: filed/b.txt").replace(
            "path: filed/scan.bin", "path: inbox/*"
        )
        write_suite(desk, edited.replace("- {label: said so", "- {label: said so, weight: 0.001"))
        passed = typed("check")
        assert passed.code == 0, passed.out + passed.err
        assert "was edited" not in passed.out

        write_suite(desk, edited.replace("text: LATE", "text: VERY LATE"))
        assert "scenario or the task item was edited" in typed("check").out
        other = typed("check", "Calm")
        assert "the scenario of this task was not run" in other.out

        write_suite(desk, edited.replace("drop: {kind: files}", "drop: {kind: files, config: {quota: 5000}}"))
        refused = typed("check")
        assert refused.code == 2
        assert "clinic has changed since `clinic` was started" in refused.err

        write_suite(desk, edited.replace("criteria:", "critera:"))
        mistaken = typed("check", "--json")
        assert mistaken.code == 2
        assert "did you mean `criteria`?" in json.loads(mistaken.out)["problems"][0]["hint"]


def test_failed_step_is_a_platform_error(desk: Path, typed: RunCommand) -> None:
    late = "scenario: [{at: +1m, files.drop: {path: a.txt, text: too long}}]"
    write_suite(
        desk,
        f"""
        environment: {{name: clinic, simulators: {{drop: {{kind: files, config: {{max_file: 3}}}}}}}}
        task: {{name: A, {late}, criteria: [{{label: x, assertion: {{never: {{event: files.file.read}}}}}}]}}
        """,
    )
    with UpProcess(desk, "--from", "suite", "--task", "A") as up:
        assert typed("check").code == 1  # nobody has done anything yet
        send_request("POST", f"{up.document['clock']['url']}/skip", up.document["clock"]["token"])
        done = typed("check")
        assert done.code == 2
        assert "! errored  A" in done.out
        assert "platform error: step files.drop: a file may have 3 bytes" in done.out
    write_suite(desk, (desk / "suite" / "clinic.yml").read_text().replace("at: +1m, ", ""))
    assert "step files.drop: a file may have 3 bytes" in typed("up", "--from", "suite", "--task", "A").err


def test_up_prints_addresses_and_events(desk: Path) -> None:
    with Process(desk, "up", "--from", "suite", "--task", "File") as up:
        lines = [up.line() for _ in range(5)]
        while "agent.started" not in lines[-1]:
            lines.append(up.line())
        text = "".join(lines)
        assert text.startswith("clinic is up  2026-03-02 14:00:00 UTC, stepped  seed 0\n")
        assert '"instruction": "File what lies in inbox/."' in text
        assert "drop  files  http://127.0.0.1:" in text
        assert "clock  http://127.0.0.1:" in text
        assert "clerkship events --follow" in text
        assert "#2   2026-03-02 14:00:00Z drop files.file.written scenario" in text
        [curl] = [line.strip() for line in lines if line.startswith("  curl") and line.endswith("/drop/files\n")]
        if shutil.which("curl"):
            subprocess.run(curl, shell=True, check=True, capture_output=True, timeout=20)
            assert "drop files.folder.listed agent" in up.line()
        stopped = up.stop(signal.SIGTERM)
    assert stopped.code == 0
    assert stopped.out.startswith("stopped after ")
    assert not (desk / ".clerkship").exists()


def test_events_are_followed_until_the_playground_ends(desk: Path) -> None:
    with UpProcess(desk, "--from", "suite") as up, Process(desk, "events", "-f", "--json", "--kind", "*.read") as tail:
        url, token = up.way("drop")
        send_request("PUT", f"{url}/files/a.txt", token, b"x")
        send_request("GET", f"{url}/files/a.txt", token)
        assert json.loads(tail.line())["payload"]["path"] == "a.txt"
        send_request("GET", f"{url}/files/a.txt", token)
        assert json.loads(tail.line())["seq"] == 4
        with Process(desk, "events", "--follow") as other:
            assert "run.started" in other.line()
            assert other.stop().code == 0
        assert up.stop().code == 0
        ended = tail.wait_for_end()
    assert (ended.code, ended.out) == (0, "")
    assert "the playground clinic has ended" in ended.err


@pytest.mark.slow
def test_commands_in_the_background_of_a_script_ignore_ctrl_c_and_end_by_sigterm(desk: Path) -> None:
    with (
        UpProcess(desk, "--from", "suite", in_background=True) as up,
        Process(desk, "events", "--follow", in_background=True) as tail,
    ):
        tail.expect("run.started")
        for process in (up, tail):
            os.kill(process.pid, signal.SIGINT)
        url, token = up.way("drop")
        send_request("PUT", f"{url}/files/a.txt", token, b"x")
        tail.expect("files.file.written")
        assert [tail.stop(signal.SIGTERM).code, up.stop(signal.SIGTERM).code] == [0, 0]


def test_ctrl_c_ends_the_playground_while_clients_are_connected(desk: Path) -> None:
    with UpProcess(desk, "--from", "suite") as up:
        url, token = up.way("drop")
        parts = urlsplit(url)
        idle = http.client.HTTPConnection(parts.netloc, timeout=20)
        idle.request("GET", f"{parts.path}/files", headers={"Authorization": f"Bearer {token}"})
        assert idle.getresponse().status == 200
        with socket.create_connection((parts.hostname, parts.port or 0), timeout=20) as half:
            half.sendall(b"PUT /x/y/files/a HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
            stopped = up.stop()
        idle.close()
    assert (stopped.code, stopped.err) == (0, "")
    assert not (desk / ".clerkship").exists()


@pytest.mark.slow
def test_name_is_required_if_several_playgrounds_are_up(desk: Path, typed: RunCommand) -> None:
    with (
        UpProcess(desk, "--from", "suite") as one,
        UpProcess(desk, "--from", "suite", "--task", "Calm the father") as two,
    ):
        assert (one.document["name"], two.document["name"]) == ("clinic", "clinic-2")
        assert "--name clinic-2" in two.document["commands"]["check"]
        unsure = typed("events")
        assert unsure.code == 2
        assert "2 playgrounds are running: clinic (clinic); clinic-2 (clinic, Calm the father)" in unsure.err
        assert len(read_log(one)) == 1
        assert len(read_log(two)) == 4
        assert "did you mean `clinic-2`?" in typed("check", "--name", "clinic-3").err
        taken = typed("up", "--from", "suite", "--name", "clinic")
        assert taken.code == 2
        assert "a playground named `clinic` is already running" in taken.err
        one.stop()
        assert "chat.session.started" in typed("events").out
        two.stop()
    assert not (desk / ".clerkship").exists()


def test_registration_of_a_killed_playground_is_detected_and_removed(desk: Path, typed: RunCommand) -> None:
    with UpProcess(desk, "--from", "suite", "--name", "mine") as up:
        number = up.read_registration()["pid"]
        os.kill(number, signal.SIGKILL)
        assert up.wait_for_end().code == -signal.SIGKILL
    assert (desk / ".clerkship" / "up" / "mine.json").exists()
    gone = typed("events")
    assert gone.code == 2
    assert f"the playground `mine` is gone: its process {number} was killed; start one with `clerkship up`" in gone.err
    with UpProcess(desk, "--from", "suite", "--name", "mine") as again:
        assert read_log(again)
        assert again.stop().code == 0
    assert not (desk / ".clerkship").exists()


@pytest.mark.slow
def test_registration_of_another_server_is_reported(desk: Path, typed: RunCommand) -> None:
    with UpProcess(desk, "--from", "suite") as up:
        file = desk / ".clerkship" / "up" / "clinic.json"
        told = json.loads(file.read_text())
        (file.parent / "other.json").write_text(json.dumps(told | {"name": "other", "token": "x", "pid": os.getpid()}))
        done = typed("events", "--name", "other")
        assert done.code == 2
        assert "the playground `other` does not answer: another program answers at its address: status 401" in done.err
        assert typed("events").code == 0
        up.stop()


def test_port_in_use_is_an_error(desk: Path, typed: RunCommand) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = typed("up", "--from", "suite", "--port", str(port))
    assert done.code == 2
    assert f"cannot listen on port {port}: address already in use; choose another --port" in done.err
    assert not (desk / ".clerkship").exists()
    with UpProcess(desk, "--from", "suite", "--port", str(port)) as up:
        assert f":{port}/" in up.document["url"]


LAB = """
    environment:
      name: lab
      simulators: {lab: {kind: hl7}}
"""


def test_listener_uses_the_given_port(tmp_path: Path, typed: RunCommand) -> None:
    write_suite(tmp_path, LAB)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = typed("up", "--from", "suite", "--listener", f"mllp={port}")
    assert done.code == 2
    wanted = f"mllp: cannot listen on port {port}: address already in use; choose another with --listener"
    assert wanted in " ".join(done.err.split())
    with UpProcess(tmp_path, "--from", "suite", "--listener", f"mllp={port}") as up:
        way = up.document["sandboxes"]["lab"]
        assert way["listeners"]["mllp"]["port"] == port
        [example] = way["examples"]
        sent = subprocess.run(example, shell=True, capture_output=True, text=True, timeout=20, check=True)
        assert "MSA|AA|1" in sent.stdout


@pytest.mark.parametrize(
    ("suite", "lines", "said"),
    [
        (LAB, ["mllp"], "invalid --listener mllp (expected: a listener and a port, such as mllp=2575)"),
        (LAB, ["=2575"], "expected: a listener and a port"),
        (LAB, ["mllp=x"], "expected: a listener and a port"),
        (LAB, ["mllp=70000"], "expected: a listener and a port"),
        (LAB, ["mllp=-1"], "expected: a listener and a port"),
        (LAB, ["mllp=1", "mllp=2"], "mllp already has port 1"),
        (LAB, ["mllp=7001", "sftp=7001"], "another listener already has this port"),
        (LAB, ["mlp=2575"], "unknown listener `mlp`; did you mean `mllp`?"),
        (
            "environment: {name: talk, simulators: {chat: {kind: chat}}}",
            ["mllp=2575"],
            "no sandbox here has a listener",
        ),
    ],
)
def test_invalid_listener_option_is_an_error(
    tmp_path: Path, typed: RunCommand, suite: str, lines: list[str], said: str
) -> None:
    write_suite(tmp_path, suite)
    done = typed("up", "--from", "suite", *(part for line in lines for part in ("--listener", line)))
    assert done.code == 2
    assert said in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["up", "clinik", "--from", "suite"], "unknown environment `clinik` in suite; did you mean `clinic`?"),
        (["up", "suite"], "unknown environment `suite` in .; it is a file or folder: `clerkship up --from suite`"),
        (["up", "--from", "nowhere"], "nowhere: there is no such file or folder"),
        (["up", "--from", "suite", "--task", "Calm the fahter"], "did you mean `Calm the father`?"),
        (["up", "--from", "suite", "--task", "the"], "it matches File the referral; Calm the father"),
        (["up", "--from", "suite", "--name", "../x"], "`../x` is not a valid name"),
        (["up", "--from", "suite", "--port", "70000"], "expected at most 65535"),
        (["up", "--from", "two"], "name the environment; expected one of a, b"),
        (["up", "b", "--from", "two", "--task", "A"], "`A` belongs to environment a, not to b"),
        (["events"], "no running playground is registered in .clerkship/up; start one with `clerkship up`"),
        (["events", "--kind", "file.*"], "no event kind matches `file.*`; expected one of agent.*, cds.*"),
        (["check", "A"], "no running playground is registered"),
    ],
)
def test_input_errors_are_printed_without_starting(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (desk / "two").mkdir()
    (desk / "two" / "a.yml").write_text("environments: [{name: a}, {name: b}]\ntask: {name: A, environment: a}")
    monkeypatch.chdir(desk)
    if arguments == ["up", "suite"]:
        shutil.rmtree(desk / "two")
    assert run(arguments) == 2
    output = capsys.readouterr()
    assert said in " ".join((output.out + output.err).split()).replace("│ ", "")
    assert not (desk / ".clerkship").exists()


@pytest.mark.long
def test_up_works_without_task_or_environment(tmp_path: Path, typed: RunCommand) -> None:
    (tmp_path / "place.yml").write_text("environment: {name: Büro 1, simulators: {drop: {kind: files}}}")
    with UpProcess(tmp_path) as up:
        assert up.document["name"] == "B-ro-1"
        assert up.document["task"] is None
        unnamed = typed("check")
        assert unnamed.code == 2
    (tmp_path / "place.yml").write_text("task: {name: A}")
    with UpProcess(tmp_path) as up:
        assert list(up.document["sandboxes"]) == ["chat"]
        assert "name the task whose criteria to check" in typed("check").err
        ungraded = typed("check", "A")
        assert (ungraded.code, ungraded.out.split()[1]) == (0, "ungraded")
