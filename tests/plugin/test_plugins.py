"""Plug-ins work everywhere, and a broken one is reported and does not affect others."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clerkship.checks.conformance import DOMAIN_CHECKS
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.plugin_loading import InstalledPlugins
from clerkship.kit.registry import UnknownName
from clerkship.model.errors import InputError
from clerkship.service.conforming import run_conformance
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import rescore
from clerkship.service.resume import plan_resume
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore
from tests.front_desk import SUITE
from tests.plugin.outside import HEALTHY, clerkship, install_package, install_simulator

ALL_SORTS = '''
from collections.abc import Mapping
from typing import ClassVar
from clerkship.plugin import NO_FACTS, Fault, FaultEffect, Plugin, ReactionPair, Refusal, Request, Step, StepHost
from acme_pager.pager import SPEC

class Static(Fault):
    "Nothing can be heard."
    name: ClassVar[str] = "acme.static"

    def on_request(self, request: Request, rng):
        return FaultEffect(refusal=Refusal(503, "static", "noise on the line"))

class Wait(Step):
    "Does nothing at all."
    name: ClassVar[str] = "acme.rest"
    aliases: ClassVar[tuple[str, ...]] = ("acme.repose",)

    def run(self, host: StepHost) -> None:
        """Do it."""

class Bot:
    entries = frozenset({"on_task"})

    async def on_turn(self, message, sandboxes):
        return []

    async def on_task(self, task_item, sandboxes):
        sandboxes["ward"].send("ward 3", "We call you.")
        return "done"

    def close(self):
        return NO_FACTS

class Solver:
    def __init__(self, name):
        self.name = name

    def open(self, solution, trial=1):
        return Bot()

PLUGIN = Plugin(contract=2, simulators=(SPEC,), faults=(Static,), steps=(Wait,),
                agents={"acme": lambda rest, settings: Solver(f"acme:{rest}")},
                reactions=(ReactionPair(source="acme.pager", target="acme.pager", module="acme_pager.forward"),))
'''
DOMAIN = """
from typing import ClassVar
from clerkship.plugin import ActionContext, DomainSpec, Event, Payload, Plugin, State

class Noted(Payload):
    "A note was taken."
    kind: ClassVar[str] = "acme.notes.noted"
    text: str

class Notes(State):
    "Every note."
    def note(self, action: ActionContext, text: str) -> None:
        action.emit(Noted(text=text))

    def apply(self, event: Event) -> None:
        self.records[event.payload.text] = event.seq

    def dump(self):
        return dict(self.records)

NOTES = DomainSpec(kind="acme.notes", summary="Notes.", state=Notes, events=(Noted,),
                   exercise=(lambda notes, action: notes.note(action, "one"),))
PLUGIN = Plugin(contract=2, domains=(NOTES,))
"""
FORWARD = """
def forward(state, action, event):
    state.receive(action, event.source, event.payload.text)

REACTIONS = {"acme.pager.message.sent": forward}
"""
PAIR = """
from clerkship.plugin import Plugin, ReactionPair

PLUGIN = Plugin(contract=2, reactions=(ReactionPair(source="acme.pager", target="acme.pager", module="{module}"),))
"""
TASK = """
environment:
  name: two
  simulators: {ward: {kind: acme.pager, config: {max_length: 50}}, desk: {kind: acme.pager}}
  reactions: [ward.message.sent -> desk]
task:
  name: Pass it on
  scenario:
    - acme.pager.receive: {sandbox: ward, sender: ward 3, text: Call us.}
    - acme.repose: {}
    - fault.acme.static: {sandbox: desk, operation: read_message}
  criteria:
    - {label: sent, assertion: {acme.pager-message-sent: {sandbox: ward, to: ward 3, text: {contains: call}}}}
    - {label: passed on, assertion: {event_occurred: {event: acme.pager.message.received, sandbox: desk}}}
"""


def _lay_down_all_sorts(site: Path) -> None:
    install_simulator(site)
    (site / "acme_pager" / "__init__.py").write_text(ALL_SORTS, encoding="utf-8")
    (site / "acme_pager" / "forward.py").write_text(FORWARD, encoding="utf-8")


def test_extensions_of_a_plugin_work_by_name(site: Path, tmp_path: Path) -> None:
    _lay_down_all_sorts(site)
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "two.yml").write_text(TASK, encoding="utf-8")
    catalog = RegisteredCatalog()
    assert catalog.broken == []
    plan = plan_run(RunRequest(path=tmp_path / "suite", agent="acme:one"), Settings(), catalog)
    store = SqliteStore(tmp_path / "store.db")
    result = execute(plan, store, catalog)
    [task_run] = store.task_runs(plan.run.id)
    assert result.exit_code() == 0, task_run
    assert store.run(plan.run.id).plugins == {"acme-pager": "0.1.0"}
    assert rescore(store, plan.run.id, catalog).exit_code() == 0
    assert plan_rerun(store, plan.run.id, catalog, Settings()).run.plugins == {"acme-pager": "0.1.0"}
    newer = RegisteredCatalog(
        plugins=InstalledPlugins(tuple(replace(plugin, version="0.2.0") for plugin in catalog.plugins))
    )
    with pytest.raises(InputError, match=r"started with acme-pager 0\.1\.0, but here there is acme-pager 0\.2\.0"):
        plan_resume(store, plan.run.id, newer, Settings())
    store.close()


def test_plugin_domain_is_known_conforms_and_is_recorded_in_a_run(site: Path, tmp_path: Path) -> None:
    install_package(site, "acme_notes", DOMAIN)
    catalog = RegisteredCatalog()
    assert catalog.broken == []
    assert [outcome.reason for outcome in run_conformance("acme.notes", catalog)] == [""] * len(DOMAIN_CHECKS)
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "a.yml").write_text(
        "environment:\n  name: e\n  simulators: {drop: {kind: files}}\n  domains: {notes: {kind: acme.notes}}\n"
        "task: {name: T, criteria: [{label: l, assertion: {never: {event: acme.notes.noted, sandbox: notes}}}]}\n",
        encoding="utf-8",
    )
    plan = plan_run(RunRequest(path=tmp_path / "suite", agent="nop"), Settings(), catalog)
    assert plan.run.plugins == {"acme-notes": "0.1.0"}


DOMAIN_CHANGES = [
    ("domains=(NOTES,)", "domains=(Notes,)", "one of its domains is the class Notes (expected a DomainSpec)"),
    ("domains=(NOTES,)", "domains=(NOTES, NOTES)", "the domain `acme.notes` exists already"),
    ('kind="acme.notes"', 'kind="acme.ledger"', "event `acme.notes.noted` does not start with `acme.ledger.`"),
    (
        'kind="acme.notes"',
        'kind="acme.notes.more"',
        "domain `acme.notes.more` has an invalid name (expected `acme.` and one word)",
    ),
]


@pytest.mark.parametrize(("right", "wrong", "reason"), DOMAIN_CHANGES)
def test_plugin_with_inconsistent_domain_is_broken(site: Path, right: str, wrong: str, reason: str) -> None:
    install_package(site, "acme_notes", DOMAIN.replace(right, wrong))
    [broken] = RegisteredCatalog().broken
    assert reason in broken.reason


def test_domain_and_simulator_cannot_share_a_kind(site: Path) -> None:
    install_simulator(site)
    install_package(site, "acme_zone", DOMAIN.replace("acme.notes", "acme.pager"))
    [broken] = RegisteredCatalog().broken
    assert broken.reason == "the domain `acme.pager` cannot be added: there is a simulator of that kind"


def test_run_without_plugins_records_none(site: Path, tmp_path: Path) -> None:
    install_package(site, "globex_one", HEALTHY.format(prefix="globex"), "globex")
    plan = plan_run(RunRequest(path=SUITE, agent="oracle"), Settings(), RegisteredCatalog())
    assert plan.run.plugins == {}


def test_hyphens_in_a_kind_are_accepted_and_wrong_reaction_event_is_rejected(site: Path, tmp_path: Path) -> None:
    install_simulator(site, "acme.night_pager")
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "a.yml").write_text(
        "environment:\n  name: e\n  simulators: {a: {kind: acme.night-pager}, b: {kind: acme.night_pager}}\n"
        "  reactions: [a.message.snt -> b, a.message.sent -> b]\n"
        "task: {name: T, scenario: [{acme.night-pager.receive: {sandbox: a, sender: x, text: y}}]}\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError) as caught:
        plan_run(RunRequest(path=tmp_path / "suite", agent="nop"), Settings(), RegisteredCatalog())
    [wrong, untaken] = caught.value.problems
    assert "acme.night_pager has no event `message.snt`; did you mean `message.sent`?" in str(wrong)
    assert "acme.night_pager does not react to acme.night_pager.message.sent" in str(untaken)


def test_run_records_the_package_of_a_reaction(site: Path, tmp_path: Path) -> None:
    _lay_down_all_sorts(site)
    plugin = site / "acme_pager" / "__init__.py"
    plugin.write_text(ALL_SORTS.partition("                reactions=")[0] + ")", encoding="utf-8")
    install_package(site, "acme_glue", PAIR.format(module="acme_pager.forward"))
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "two.yml").write_text(TASK, encoding="utf-8")
    plan = plan_run(RunRequest(path=tmp_path / "suite", agent="nop"), Settings(), RegisteredCatalog())
    assert plan.run.plugins == {"acme-glue": "0.1.0", "acme-pager": "0.1.0"}


def test_plugin_reactions_are_imported_only_when_used(site: Path, tmp_path: Path) -> None:
    install_simulator(site)
    install_package(site, "acme_glue", PAIR.format(module="acme_glue.late"))
    (site / "acme_glue" / "late.py").write_text("1 / 0", encoding="utf-8")
    catalog, suite = RegisteredCatalog(), tmp_path / "suite"
    suite.mkdir()
    environment = "environment:\n  name: e\n  simulators: {a: {kind: acme.pager}, b: {kind: acme.pager}}\n"
    (suite / "a.yml").write_text(f"{environment}task: {{name: T}}\n", encoding="utf-8")
    assert catalog.broken == []
    plan_run(RunRequest(path=suite, agent="nop"), Settings(), catalog)
    text = f"{environment}  reactions: [a.message.sent -> b]\ntask: {{name: T}}\n"
    (suite / "a.yml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        plan_run(RunRequest(path=suite, agent="nop"), Settings(), catalog)
    [problem] = caught.value.problems
    assert (problem.line, problem.key) == (4, "environment.reactions.0")
    reason = "the reactions of acme.pager to acme.pager cannot be loaded from acme_glue.late: ZeroDivisionError"
    assert problem.message.startswith(reason)


BROKEN = {
    "an import that fails": ("import no_such_module_anywhere", "No module named 'no_such_module_anywhere'"),
    "an exception": ("print('hello')\n1 / 0", r"ZeroDivisionError: division by zero \(__init__.py:2\)"),
    "an end": ("raise SystemExit(3)", "SystemExit: 3"),
    "no such object": ("", "has no attribute 'PLUGIN'"),
    "something else": ("PLUGIN = 5", "is a int .expected a clerkship.plugin.Plugin"),
    "another contract": (
        "from clerkship.plugin import Plugin\nPLUGIN = Plugin(contract=1)",
        "written for version 1 of the plug-in API .expected: 2",
    ),
    "no contract": ("from clerkship.plugin import Plugin\nPLUGIN = Plugin()", "TypeError: .*contract"),
    "a key too many": ("from clerkship.plugin import Plugin\nPLUGIN = Plugin(contract=2, x=2)", "unexpected keyword"),
    "no prefix": (HEALTHY.replace("{prefix}.fine", "fine"), "assertion `fine` does not start with its prefix, `acme.`"),
    "another's prefix": (HEALTHY.format(prefix="globex"), "assertion `globex.fine` does not start with its prefix"),
    "a bad name": (HEALTHY.format(prefix="acme.It is"), "invalid assertion `acme.It is.fine`"),
    "a name twice": (
        HEALTHY.format(prefix="acme").replace("(Fine,)", "(Fine, Fine)"),
        "the assertion `acme.fine` exists already",
    ),
    "no docstring": (HEALTHY.format(prefix="acme").replace('"Always holds."', ""), "Fine has no docstring"),
    "no name": (HEALTHY.format(prefix="acme").replace("name: Cl", "nmae: Cl"), "assertion Fine has no `name`"),
    "no class": (
        HEALTHY.format(prefix="acme").replace("(Fine,)", "(5,)"),
        "is a int .expected a subclass of Assertion",
    ),
    "no spec": (
        HEALTHY.format(prefix="acme").replace("assertions", "simulators"),
        "is the class Fine .expected a Spec",
    ),
    "no function": (
        HEALTHY.format(prefix="acme").replace("assertions=(Fine,)", "agents={'acme': 1}"),
        "expected a function",
    ),
    "no pair": (
        HEALTHY.format(prefix="acme").replace("assertions", "reactions"),
        "the class Fine .expected a ReactionPair",
    ),
    "a pair of others": (
        PAIR.format(module="x").replace("acme.pager", "hl7"),
        "reaction `hl7 to hl7`: neither kind starts with its prefix, `acme.`",
    ),
    "a pair with a bad name": (
        PAIR.format(module="x").replace("acme.pager", "acme.Pager"),
        "invalid kind `acme.Pager`",
    ),
    "a pair twice": (
        PAIR.format(module="x").replace("reactions=(", "reactions=2 * ("),
        "the reaction `acme.pager to acme.pager` exists already",
    ),
}


@pytest.mark.parametrize(("source", "reason"), BROKEN.values(), ids=BROKEN)
def test_broken_plugin_is_reported_and_does_not_affect_others(
    site: Path, source: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install_package(site, "acme_broken", source)
    install_package(site, "globex_one", HEALTHY.format(prefix="globex"), "globex")
    catalog = RegisteredCatalog()
    assert capsys.readouterr().out == ""
    assert len(catalog.broken) == 1
    with pytest.raises(UnknownName, match=reason) as caught:
        catalog.assertion("acme.anything")
    assert "plug-in `acme` (acme-broken 0.1.0) is broken" in str(caught.value)
    assert catalog.assertion("globex.fine").name == "globex.fine"
    assert [plugin.prefix for plugin in catalog.plugins] == ["globex"]
    assert catalog.missing("fault.acme.x").startswith("plug-in `acme`")
    assert not any(name.startswith("acme") for name in (*catalog.assertions, *catalog.steps, *catalog.simulators))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            ('kind="acme.pager"', 'kind="acme.paging"'),
            "event `acme.pager.message.sent` does not start with `acme.paging.`",
        ),
        (
            ('kind="acme.pager"', 'kind="acme.pager.night"'),
            "`acme.pager.night` has an invalid name (expected `acme.` and one word)",
        ),
        (('kind="acme.pager"', 'kind="files"'), "`files` has an invalid name (expected `acme.` and one word)"),
        (("exercise=EXERCISE", "exercise=()"), "`exercise` is empty"),
        (("summary=", "sumary="), "unexpected keyword argument 'sumary'"),
    ],
)
def test_plugin_with_inconsistent_spec_is_broken(site: Path, change: tuple[str, str], reason: str) -> None:
    install_simulator(site)
    spec = site / "acme_pager" / "pager" / "__init__.py"
    spec.write_text(spec.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    catalog = RegisteredCatalog()
    assert [plugin.prefix for plugin in catalog.broken] == ["acme"]
    assert reason in catalog.broken[0].reason
    assert "files" in catalog.simulators


@pytest.mark.parametrize("prefix", ["files", "fault", "agent", "python", "run", "clerkship"])
def test_built_in_names_are_reserved_prefixes(site: Path, prefix: str) -> None:
    install_package(site, "greedy", HEALTHY.format(prefix=prefix), prefix)
    [broken] = RegisteredCatalog().broken
    assert broken.reason == f"the prefix `{prefix}` is reserved for Clerkship"


def test_prefix_with_capitals_is_rejected(site: Path) -> None:
    install_package(site, "greedy", HEALTHY.format(prefix="Acme"), "Acme")
    assert "invalid prefix `Acme`" in RegisteredCatalog().broken[0].reason


def test_packages_can_share_a_prefix_but_not_a_name(site: Path) -> None:
    install_package(site, "acme_one", HEALTHY.format(prefix="acme"))
    install_package(site, "acme_two", HEALTHY.format(prefix="acme").replace("acme.fine", "acme.better"))
    install_package(site, "acme_zero", HEALTHY.format(prefix="acme"))
    catalog = RegisteredCatalog()
    assert [plugin.package for plugin in catalog.plugins] == ["acme-one", "acme-two"]
    [broken] = catalog.broken
    assert str(broken) == (
        "plug-in `acme` (acme-zero 0.1.0) is broken: the assertion `acme.fine` exists already, "
        "from plug-in `acme` (acme-one 0.1.0)"
    )


def test_name_of_a_missing_plugin_is_reported_as_not_installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownName, match="no plug-in `acme` is installed"):
        RegisteredCatalog().simulator("acme.pager")
    with pytest.raises(UnknownName, match=r"did you mean `files\.drop`"):
        RegisteredCatalog().step("file.drop")
    install_package(site, "acme_one", "raise RuntimeError('never imported')")
    monkeypatch.setenv("CLERKSHIP_PLUGINS", "off")
    assert RegisteredCatalog().broken == []
    with pytest.raises(UnknownName, match="turned off by CLERKSHIP_PLUGINS"):
        RegisteredCatalog().simulator("acme.pager")
    monkeypatch.setenv("CLERKSHIP_PLUGINS", "maybe")
    with pytest.raises(InputError, match="expected `on` or `off`"):
        RegisteredCatalog()


def test_cli_works_with_a_broken_plugin_installed(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_package(site, "globex_broken", "print('chatter')\nraise RuntimeError('it is [bold]late[/]')", "globex")
    project = install_simulator(site)
    warning = "plug-in `globex` (globex-broken 0.1.0) is broken: RuntimeError: it is [bold]late[/] (__init__.py:2)"
    done = clerkship(site, "run", "practice", "-a", "oracle", "--json", cwd=project)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["warnings"] == [warning]
    assert shown["run"]["plugins"] == {"acme-pager": "0.1.0"}
    assert done.stderr.count("globex-broken") == 1
    assert "chatter" in done.stderr
    page = Path(project / shown["report"]).read_text(encoding="utf-8")
    assert "<dt>Plug-ins</dt><dd>acme-pager 0.1.0</dd>" in page
    (tmp_path / "names.yml").write_text("task: {name: T, criteria: [{label: l, assertion: {globex.paged: {}}}]}")
    done = clerkship(site, "validate", str(tmp_path / "names.yml"), cwd=project)
    assert done.returncode == 2
    assert f"unknown assertion `globex.paged`; {warning}" in done.stdout
    done = clerkship(site, "run", "practice", "-a", "globex:x", cwd=project)
    assert done.returncode == 2
    assert f"unknown agent `globex:x`; {warning}" in done.stderr
    done = clerkship(site, "plugins", cwd=project)
    assert done.returncode == 2
    assert "✓ acme  acme-pager 0.1.0" in done.stdout
    assert "simulators acme.pager" in done.stdout
    assert "✗ globex  globex-broken 0.1.0\n    RuntimeError: it is [bold]late[/]" in done.stdout
    done = clerkship(site, "plugins", "--json", cwd=project, CLERKSHIP_PLUGINS="off")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"plugins": []})
    done = clerkship(site, "schema", "environment", cwd=project)
    assert '"acme.pager"' in done.stdout


def test_pytest_warns_once_of_a_broken_plugin(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_package(site, "globex_broken", "1 / 0", "globex")
    test = f"(clerkship, run=1):\n    assert clerkship.run({str(SUITE)!r}, agent='oracle').passed\n"
    (tmp_path / "test_it.py").write_text(f"def test_one{test}def test_two{test}", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "test_it.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert "2 passed" in done.stdout, done.stdout
    assert done.stdout.count("clerkship: plug-in `globex` (globex-broken 0.1.0) is broken: ZeroDivisionError") == 1


def test_conformance_command_checks_a_plugin(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_simulator(site)
    done = clerkship(site, "conformance", "acme.pager", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "14 of 14 checks pass" in done.stdout
    state = site / "acme_pager" / "pager" / "state.py"
    text = state.read_text(encoding="utf-8")
    broken = text.replace(
        "        self._check_length(text)\n        number = len(self.messages) + 1\n        action.emit",
        "        return 1\n        action.emit",
    )
    assert broken != text
    state.write_text(broken, encoding="utf-8")
    done = clerkship(site, "conformance", "acme.pager", "--json", cwd=tmp_path)
    assert done.returncode == 1
    reasons = {check["check"]: check["reason"] for check in json.loads(done.stdout)["checks"]}
    assert "accepted but caused no event" in reasons["an_acknowledged_write_has_an_effect"]
    assert reasons["same_seed_gives_the_same_log"] == ""
    state.write_text(text.replace("        self._check_length(text)\n", "        1 / 0\n"), encoding="utf-8")
    done = clerkship(site, "conformance", "acme.pager", cwd=tmp_path)
    assert len(re.findall(r"ZeroDivisionError: division by zero \(pager/state\.py:\d+\)", done.stdout)) == 1
    assert done.stdout.count("    the same error as above\n") > 5
    done = clerkship(site, "conformance", "acme.bell", cwd=tmp_path)
    assert done.returncode == 2
    assert "unknown simulator `acme.bell`; known: acme.pager" in done.stderr


def test_plugins_are_not_imported_if_not_used() -> None:
    code = (
        "import sys; sys.argv = ['clerkship', '--version']\n"
        "from clerkship.__main__ import main; main()\n"
        "assert 'importlib.metadata' not in sys.modules\n"
        "from clerkship.engine.catalog import RegisteredCatalog\n"
        "RegisteredCatalog()\n"
        "before = set(sys.modules); RegisteredCatalog()\n"
        "assert set(sys.modules) == before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
