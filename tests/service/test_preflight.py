"""An unreachable agent stops a run before anything is stored."""

import os
import shlex
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.service.checking import ValidationRequest, validate
from clerkship.service.fork import plan_fork
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import ForkRequest, RunRequest
from clerkship.service.rerun import plan_rerun
from clerkship.service.resume import plan_resume
from clerkship.settings import Settings
from tests.actors.models import model_at
from tests.actors.programs import TALK, WORK, program, suite
from tests.actors.servers import Answered, Asked, Served
from tests.workbench import Workbench

CATALOG = RegisteredCatalog()
PYTHON = shlex.quote(sys.executable)


@pytest.fixture
def unreachable_address() -> Iterator[str]:
    """The address of a port that is bound but does not listen."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def answer_bye(asked: Asked) -> Answered:
    return 200, {}, b'{"say": "bye"}'


def test_unreachable_http_agent_stops_the_run(bench: Workbench, unreachable_address: str) -> None:
    suite(bench, WORK)
    with pytest.raises(InputError) as caught:
        bench.run(f"http://{unreachable_address}/agent?key=secret")
    message = str(caught.value)
    assert message.startswith(
        f"agent http:http://{unreachable_address}/agent?…: cannot connect to {unreachable_address}: "
    )
    assert message.endswith("start the agent's server, or correct the address")
    assert "secret" not in message
    assert bench.store.runs() == []


def test_unreachable_openai_agent_stops_the_run(bench: Workbench, unreachable_address: str) -> None:
    suite(bench, WORK)
    with pytest.raises(
        InputError, match=f"agent openai:m@http://{unreachable_address}/v1: cannot connect to {unreachable_address}: "
    ):
        bench.run(model_at(f"http://{unreachable_address}/v1", "m", "key"))
    assert bench.store.runs() == []


@pytest.mark.parametrize("status", [200, 404, 405, 500])
def test_server_with_any_answer_is_reachable_and_gets_no_task(bench: Workbench, status: int) -> None:
    suite(bench, WORK)
    with Served(lambda asked: (status, {}, b"{}")) as there:
        validation = validate(ValidationRequest(path=bench.folder, agent=f"http:{there.url}"), Settings(), CATALOG)
        assert validation.exit_code() == 0
        assert there.asked == []


def test_server_that_accepts_a_connection_and_is_silent_is_reachable(bench: Workbench) -> None:
    suite(bench, WORK)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert validate(ValidationRequest(path=bench.folder, agent=address), Settings(), CATALOG).exit_code() == 0


def test_unreachable_http_agent_is_reported_with_mistakes_in_files(bench: Workbench, unreachable_address: str) -> None:
    bench.write("a.yml", "task: {}")
    validation = validate(
        ValidationRequest(path=bench.folder, agent=f"http://{unreachable_address}"), Settings(), CATALOG
    )
    assert [problem.message.partition(":")[0] for problem in validation.problems] == ["`name` is missing", "agent http"]


def test_fork_resume_and_rerun_require_a_reachable_agent(bench: Workbench) -> None:
    suite(bench, TALK)
    with Served(answer_bye) as there:
        task_run = bench.run_one(f"http:{there.url}")
        unfinished = plan_run(RunRequest(path=bench.folder, agent=f"http:{there.url}"), Settings(), CATALOG)
    assert task_run.verdict == "pass"
    bench.store.open_run(unfinished.run, unfinished.frozen())
    before = len(bench.store.runs())
    refused = pytest.raises(InputError, match="cannot connect to")
    with refused:
        plan_rerun(bench.store, task_run.run, CATALOG, Settings())
    with refused:
        plan_fork(bench.store, ForkRequest(run=task_run.run, task="Talk", turn=1), CATALOG, Settings())
    with refused:
        plan_resume(bench.store, unfinished.run.id, CATALOG, Settings())
    assert len(bench.store.runs()) == before


def test_finished_run_can_be_resumed_without_its_agent(bench: Workbench) -> None:
    suite(bench, TALK)
    with Served(answer_bye) as there:
        task_run = bench.run_one(f"http:{there.url}")
    assert plan_resume(bench.store, task_run.run, CATALOG, Settings()).left == 0


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (f"{PYTHON} missing.py", "missing.py"),
        (f"{PYTHON} -I -X dev missing.py --config there.json", "missing.py"),
        (f"{PYTHON} missing", "missing"),
        ("sh missing", "missing"),
        ("sh ./missing.sh", "./missing.sh"),
    ],
)
def test_program_with_a_missing_script_stops_the_run(bench: Workbench, words: str, missing: str) -> None:
    suite(bench, WORK)
    with pytest.raises(InputError) as caught:
        bench.run(f"command:{words}")
    message = f"agent command:{words}: no file `{missing}` in {Path.cwd()}; start from the folder that contains it"
    assert str(caught.value) == message
    assert bench.store.runs() == []


@pytest.mark.parametrize("first", ["#!/nowhere/python3", "#!/usr/bin/env -S no-such-python3 -I"])
def test_script_with_a_missing_interpreter_stops_the_run(bench: Workbench, tmp_path: Path, first: str) -> None:
    suite(bench, WORK)
    script = tmp_path / "agent"
    script.write_text(f"{first}\nprint(42)\n", encoding="utf-8")
    script.chmod(0o755)
    interpreter = first.removeprefix("#!").removeprefix("/usr/bin/env -S ").split()[0]
    with pytest.raises(
        InputError, match=f"its first line names the interpreter `{interpreter}`, which is not installed"
    ):
        bench.run(f"command:{shlex.quote(str(script))}")


@pytest.mark.parametrize("words", [f"{PYTHON} -c 'print(42)' missing.py", f"{PYTHON} -m json.tool missing.py"])
def test_arguments_after_code_or_module_are_not_scripts(bench: Workbench, words: str) -> None:
    suite(bench, WORK)
    assert validate(ValidationRequest(path=bench.folder, agent=f"command:{words}"), Settings(), CATALOG).problems == ()


def test_existing_program_runs(bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite(bench, WORK)
    program(tmp_path, 'say({"answer": 42})')
    monkeypatch.chdir(tmp_path / "agent")
    assert bench.run_one(f"command:{PYTHON} agent.py").verdict == "pass"
    script = tmp_path / "agent" / "run"
    script.write_text("#!/usr/bin/env sh\necho 42\n", encoding="utf-8")
    script.chmod(0o755)
    assert bench.run_one(f"command:.{os.sep}run").verdict == "pass"
