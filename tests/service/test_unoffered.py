"""Extras that are not installed: named by `validate`, and before a run."""

import sys
import tomllib
from pathlib import Path

import pytest

from clerkship.actors.command import CommandSolver
from clerkship.actors.contract import Solver
from clerkship.actors.nop import Nop
from clerkship.actors.python import PythonSolver
from clerkship.cli.app import run
from clerkship.demo.agent import Agent
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.engine.extras import find_missing_extras
from clerkship.kit import extras
from clerkship.model.environment import Environment, Simulator
from clerkship.service.planning.freeze import warn_of_missing_extras
from clerkship.simulators import cds, cds_service, fax, files, hl7, voice
from tests.workbench import Workbench

ROOT = Path(__file__).parents[2]
PLACE = Environment(name="p", simulators={"drop": Simulator(kind="files"), "lab": Simulator(kind="hl7")})
SUITE = """
    environment:
      name: clinic
      simulators: {line: {kind: fax}, drop: {kind: files}}
    tasks:
      - name: Receive
        scenario: [{fax.receive: {from: "+15550100300", text: hello}}]
        criteria: [{label: Answered, assertion: {answer_matches: five}}]
      - name: Send
        task_item: {instruction: "Fax a note to +15550100300."}
        criteria: [{label: Sent, assertion: {fax_sent: {to: "+15550100300"}}}]
      - name: Send or write
        task_item: {instruction: "Fax a note to +15550100300, or write it."}
        criteria:
          - label: Done
            assertion: {any_of: [{fax_sent: {to: "+15550100300"}}, {file_present: {path: note.txt}}]}
      - name: Do not send
        criteria:
          - {label: Unsent, assertion: {fax_sent: {none: true}}}
          - {label: Answered, assertion: {answer_matches: five}}
"""
FAX = "the extra `fax` is not installed, and 2 tasks need it: 'Receive', 'Send'; install it with `uv sync --extra fax "


@pytest.fixture
def without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    """No extra is installed."""
    for name in extras.EXTRAS:
        monkeypatch.setitem(extras.EXTRAS, name, ("no_such_module",))
    monkeypatch.setattr(files.SPEC.listeners[0], "package", "no_such_module")


def test_table_has_the_extras_of_the_package_and_all_are_installed_for_tests() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert extras.EXTRAS.keys() == project["optional-dependencies"].keys()
    assert [name for name in extras.EXTRAS if not extras.is_installed(name)] == []


def test_nothing_is_missing_where_all_extras_are_installed() -> None:
    assert [find_missing_extras(spec) for spec in (files.SPEC, hl7.SPEC, fax.SPEC, voice.SPEC)] == [{}, {}, {}, {}]


@pytest.mark.usefixtures("without_extras")
def test_extras_of_each_kind_are_missing() -> None:
    specs = (files.SPEC, hl7.SPEC, fax.SPEC, voice.SPEC, cds.SPEC, cds_service.SPEC)
    missing = [list(find_missing_extras(spec)) for spec in specs]
    assert missing == [["sftp"], [], ["fax", "ocr"], ["websocket"], ["jwt"], ["jwt"]]


@pytest.mark.usefixtures("without_extras")
def test_agents_that_may_use_any_protocol_are_warned() -> None:
    def find_warnings(solver: Solver) -> list[str]:
        return [*map(str, warn_of_missing_extras(solver, [PLACE, PLACE], build_catalog_without_plugins()))]

    expected = (
        "in `files` sandboxes SFTP is not available, because the extra `sftp` is not installed; if an agent uses it, "
        "install it with `uv sync --extra sftp --inexact` in a checkout, or `pip install 'clerkship[sftp]'`"
    )
    assert find_warnings(CommandSolver("command:x", ["x"], Path())) == [expected]
    assert find_warnings(PythonSolver("agent", lambda task_item, sandboxes: None)) == [expected]
    assert find_warnings(Nop()) == []
    assert find_warnings(PythonSolver("python:clerkship.demo.agent:Agent", Agent)) == []


@pytest.mark.usefixtures("without_extras")
def test_run_refuses_tasks_that_cannot_be_done_without_an_extra_and_validate_names_them(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def output(*arguments: str, code: int) -> str:
        assert run([*arguments]) == code
        printed = capsys.readouterr()
        return " ".join((printed.out + printed.err).split())

    monkeypatch.chdir(tmp_path)
    bench.write("suite.yml", SUITE)
    told = output("validate", "suite", code=0)
    assert FAX in told
    assert "the extra `ocr` is not installed" in told
    assert "the extra `sftp` is not installed" in told
    assert "neither be sent nor received" not in told  # it is reported already
    refused = output("run", "suite", "--agent", "nop", code=2)
    assert FAX in refused
    assert "[1/" not in refused
    others = ["--task", "Send or write", "--task", "Do not send"]
    assert "pass rate 0%" in output("run", "suite", "--agent", "nop", *others, code=1)
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert run(["run", "suite", "--agent", "nop"]) == 1
    monkeypatch.setitem(extras.EXTRAS, "fax", ("no_such_module",))
    assert FAX in output("rerun", "latest", code=2)
    assert sys.modules.get("no_such_module") is None


@pytest.mark.usefixtures("without_extras")
def test_public_keys_of_a_config_without_the_extra_are_a_mistake_with_file_and_line(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    bench.write(
        "suite.yml",
        """
        environment:
          name: clinic
          simulators:
            advisor:
              kind: cds_service
              config: {clients: [{issuer: ehr, jwks: {keys: [{kty: EC}]}}]}
        tasks: [{name: Ask, criteria: [{label: Answered, assertion: {answer_matches: five}}]}]
        """,
    )
    assert run(["validate", "suite"]) == 2
    printed = capsys.readouterr()
    text = " ".join((printed.out + printed.err).split())
    assert "suite.yml:7:" in text
    assert "public keys need the extra `jwt`; install it with `uv sync --extra jwt " in text


@pytest.mark.usefixtures("without_extras")
def test_run_refuses_tasks_in_which_an_ehr_calls_the_agent_without_the_extra_that_signs(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    bench.write(
        "suite.yml",
        """
        environment: {name: ward, simulators: {emr: {kind: cds}}}
        tasks:
          - name: Warn
            task_item: {instruction: Offer a service.}
            criteria: [{label: Warned, assertion: {cds_card: {hook: order-sign}}}]
        """,
    )
    assert run(["run", "suite", "--agent", "nop"]) == 2
    assert "the extra `jwt` is not installed, and 'Warn' needs it" in " ".join(capsys.readouterr().err.split())
