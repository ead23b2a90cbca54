"""The twilio SDKs for Python and Node drive the Twilio API, and check the signatures of its webhooks."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import NODE, installed
from tests.clients.installs import CannotInstall, python_environment
from tests.simulators.agent_server import AgentAnswer, AgentServer
from tests.simulators.messages.twilio.clinic import ADA, GONE, OWN, TextingClinic

PROGRAMS = Path(__file__).parent / "programs"
GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "text_messages.md"
Sdk = Callable[[dict[str, Any]], Any]


def run_program(command: list[str], task: dict[str, Any]) -> Any:
    """Run a program with a task as its input; return its output."""
    done = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(params=["python", pytest.param("node", marks=pytest.mark.slow)])
def sdk(request: pytest.FixtureRequest) -> Sdk:
    """Return a function that runs an SDK."""
    if request.param == "node":
        command = ["node", str(NODE / "twilio_drive.cjs"), str(installed("twilio"))]
    else:
        try:
            python = python_environment("twilio", PROGRAMS / "twilio.txt")
        except CannotInstall as problem:
            pytest.skip(str(problem))
        command = [str(python), str(PROGRAMS / "drive.py")]
    return lambda task: run_program(command, task)


@pytest.fixture
def clinic() -> Iterator[TextingClinic]:
    opened = TextingClinic()
    yield opened
    opened.close()


def test_the_sdk_sends_lists_streams_and_fetches_and_its_webhooks_are_signed(sdk: Sdk, clinic: TextingClinic) -> None:
    answers = [AgentAnswer()]
    agent = AgentServer(lambda _: answers[-1])
    basic, sms_url, callback = (
        clinic.handle.credentials["basic"],
        f"{agent.url}/sms?a=1&b=%C3%BC",
        f"{agent.url}/status",
    )
    arguments = [clinic.handle.url, basic["user"], basic["password"], sms_url, callback, OWN, ADA, GONE]
    output = sdk({"drive": arguments})
    assert (output["account"], output["sms_url"], output["status"]) == ("active", sms_url, "queued")
    assert output["fetched"] == ["Message 0", "1", True]
    assert output["list"] == output["sent"][::-1]
    assert (output["limited"], output["today"]) == (2, 3)
    assert output["stream"] == ["Message 2", "Message 1", "Message 0"]
    assert output["errors"] == {
        "opted_out": [400, 21610],
        "bad_to": [400, 21211],
        "service": [400, 21701],
        "unknown": [404, 20404],
        "wrong_token": [401, 20003],
    }
    answers.append(AgentAnswer(body=output["twiml"].encode()))
    clinic.receive("Größe? 100 % & <ok> 😀")
    clinic.pass_time("1h")
    answered = [message.text for message in clinic.sent_by_agent[3:]]
    assert answered == ["First & foremost", "Zweite Nachricht: ü"]
    requests = [
        {"url": f"{agent.url}{each.path}", "form": each.form, "signature": each.headers["x-twilio-signature"]}
        for each in agent.posted
    ]
    assert len(requests) == 10  # three statuses of three messages, and the text message
    assert sdk({"validate": [basic["password"], requests]}) == [True] * 10
    assert sdk({"validate": ["another token", requests]}) == [False] * 10
    agent.close()


def test_the_sdk_sends_lists_and_fetches_media(sdk: Sdk, clinic: TextingClinic) -> None:
    basic = clinic.handle.credentials["basic"]
    urls = ["data:image/png;name=card.png;base64,iVBORw0KGgo=", "data:text/vcard,BEGIN:VCARD"]
    output = sdk({"media": [clinic.handle.url, basic["user"], basic["password"], OWN, ADA, urls]})
    assert (output["num_media"], output["refused"]) == ("2", [400, 21620])
    assert output["list"] == [["image/png", True], ["text/vcard", True]]
    path = output["fetched"].removeprefix(clinic.account).removesuffix(".json")
    assert clinic.send("GET", path).body == b"\x89PNG\r\n\x1a\n"


def test_the_agent_of_the_guide_that_uses_the_sdk_passes(tmp_path: Path) -> None:
    try:
        python = python_environment("twilio", PROGRAMS / "twilio.txt")
    except CannotInstall as problem:
        pytest.skip(str(problem))
    blocks = re.findall(
        r"^```\w+\n# file: (\S+)\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    for name, text in blocks:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    [site] = python.parents[1].glob("lib/python*/site-packages")
    program = "import sys; sys.path.append(sys.argv.pop(1)); from clerkship.__main__ import main; main()"
    command = [sys.executable, "-c", program, str(site)]
    command += ["run", "desk/move.yml", "--agent", "python:with_twilio:on_task"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
