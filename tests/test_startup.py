"""Commands import only what they need. What is imported is checked, not how long it takes."""

import subprocess
import sys
from pathlib import Path

import pytest

from clerkship.cli.app import run

SCRIPT = """
import sys
from clerkship.__main__ import main
sys.argv = ["clerkship", *sys.argv[2:]]
code = main()
print("\\n".join(sys.modules), file=open({place!r}, "w"))
sys.exit(code)
"""
HEAVY = {
    "yaml",
    "jinja2",
    "httpx",
    "httptools",
    "regex",
    "fhirpathpy",
    "antlr4",
    "asyncssh",
    "PIL",
    "pypdfium2",
    "tesserocr",
    "websockets",
    "anthropic",
    "joserfc",
    "cryptography",
    "aiosmtpd",
    "fastapi",
    "starlette",
    "uvicorn",
}
"""Packages of others that few commands need."""
MACHINERY = {
    "clerkship.engine",
    "clerkship.playground",
    "clerkship.simulators",
    "clerkship.transports",
    "clerkship.suite_files",
    "clerkship.llm",
}


@pytest.fixture(scope="module")
def practice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one task on files, and a store with one run of it."""
    folder = tmp_path_factory.mktemp("startup")
    suite, store = str(folder / "practice"), str(folder / "store.db")
    assert run(["new", "task", "Sort the inbox", "--in", suite]) == 0
    assert run(["run", suite, "--agent", "oracle", "--store", store]) == 0
    return folder


def imported(folder: Path, *arguments: str) -> set[str]:
    """Run a command in an interpreter of its own, and return the modules that it has imported."""
    place = folder / "modules.txt"
    script = SCRIPT.format(place=str(place))
    subprocess.run([sys.executable, "-c", script, "-", *arguments], cwd=folder, check=True, timeout=60)
    return set(place.read_text(encoding="utf-8").splitlines())


def of_packages(modules: set[str], packages: set[str]) -> set[str]:
    """Return the modules that are, or are in, one of some packages."""
    return {module for module in modules if any(f"{module}.".startswith(f"{package}.") for package in packages)}


def test_version_imports_nothing_heavy(practice: Path) -> None:
    modules = imported(practice, "--version")
    assert of_packages(modules, HEAVY | {"pydantic", "typer", "rich", "asyncio", "sqlite3", "typing"}) == set()


def test_help_imports_no_command(practice: Path) -> None:
    modules = imported(practice, "--help")
    assert of_packages(modules, HEAVY | {"pydantic", "rich", "asyncio", "sqlite3", "orjson"}) == set()
    assert {module for module in modules if module.startswith("clerkship.")} == {
        "clerkship.__main__",
        "clerkship.by_name",
        "clerkship.cli",
        "clerkship.cli.app",
        "clerkship.cli.commands",
        "clerkship.old_paths",
    }


def test_help_of_a_group_imports_no_command(practice: Path) -> None:
    modules = imported(practice, "new", "--help")
    assert of_packages(modules, {"clerkship.cli.new", "clerkship.service", "clerkship.model"}) == set()


def test_help_of_run_imports_its_options_alone(practice: Path) -> None:
    modules = imported(practice, "run", "--help")
    own = MACHINERY - {"clerkship.transports"} | {"clerkship.recording", "clerkship.cli.running"}
    assert of_packages(modules, HEAVY | own | {"pydantic", "rich", "asyncio", "sqlite3"}) == set()


def test_handle_in_the_process_of_an_agent_imports_no_simulator(practice: Path) -> None:
    script = """
import sys
from clerkship.actors.host_sandboxes import HostHandles
handle = HostHandles(None, {"files": {"kind": "files", "handle": "clerkship.simulators.files.handle:Files"}})["files"]
print("\\n".join(sys.modules))
from clerkship.simulators.files import SPEC
assert SPEC.handle is type(handle)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    modules = set(done.stdout.splitlines())
    assert of_packages(modules, HEAVY | {"pydantic", "asyncio"}) == set()
    assert of_packages(modules, {"clerkship.simulators"}) == {
        "clerkship.simulators",
        "clerkship.simulators.files",
        "clerkship.simulators.files.handle",
    }


def test_list_imports_no_machinery_of_runs(practice: Path) -> None:
    modules = imported(practice, "list", "--store", "store.db")
    own = MACHINERY | {"clerkship.actors", "clerkship.sandbox", "clerkship.assertions", "clerkship.recording"}
    own |= {"clerkship.events", "clerkship.model.task", "clerkship.model.snapshot", "clerkship.service.exporting"}
    assert of_packages(modules, HEAVY | own | {"asyncio", "ssl"}) == set()


def test_show_of_a_run_imports_no_machinery_of_runs(practice: Path) -> None:
    modules = imported(practice, "show", "latest", "--store", "store.db")
    own = MACHINERY | {"clerkship.actors", "clerkship.sandbox", "clerkship.events", "clerkship.model.snapshot"}
    own |= {"clerkship.service.exporting", "clerkship.recording.session", "clerkship.cli.task_output"}
    assert of_packages(modules, HEAVY | own | {"asyncio", "ssl"}) == set()
    assert of_packages(modules, {"clerkship.assertions"}) == {"clerkship.assertions", "clerkship.assertions.registry"}


def test_validate_imports_only_what_the_files_name(practice: Path) -> None:
    modules = imported(practice, "validate", "practice")
    own = {"clerkship.playground", "clerkship.recording", "clerkship.store", "clerkship.rasa", "clerkship.formats.fhir"}
    own |= {
        "clerkship.formats.hl7",
        "clerkship.suite_files.synthetic",
        "clerkship.simulators.fhir",
        "clerkship.simulators.hl7",
    }
    own |= {"clerkship.payer", "clerkship.mcp", "clerkship.playground.tool_endpoints"}
    own |= {"clerkship.engine.build", "clerkship.engine.worker", "clerkship.model.scenario_file", "clerkship.plugin"}
    own |= {"clerkship.sandbox.faults.request_faults", "clerkship.assertions.flows", "clerkship.assertions.judged"}
    own |= {f"clerkship.actors.{name}" for name in ("command", "model_agent", "person_played", "python", "webhook")}
    assert of_packages(modules, HEAVY - {"yaml"} | own | {"sqlite3"}) == set()


def test_run_imports_only_the_simulators_and_agents_that_are_named(practice: Path) -> None:
    modules = imported(practice, "run", "practice", "--agent", "oracle", "--store", "store.db")
    own = {
        "clerkship.formats.fhir",
        "clerkship.formats.hl7",
        "clerkship.suite_files.synthetic",
        "clerkship.rasa",
        "clerkship.plugin",
    }
    own |= {"clerkship.payer"}
    own |= {"clerkship.actors.model_agent", "clerkship.sandbox.faults.request_faults", "clerkship.assertions.judged"}
    own |= {
        f"clerkship.actors.{name}" for name in ("command", "http_bot", "person_played", "python_process", "webhook")
    }
    own |= {f"clerkship.engine.{name}" for name in ("fork_point", "person_check", "remote_model")}
    own |= {"clerkship.llm.client", "clerkship.providers.apis", "clerkship.recording.recorded_model"}
    assert of_packages(modules, HEAVY - {"yaml", "jinja2", "httptools"} | own) == set()


def test_run_whose_agent_sends_no_spans_imports_nothing_for_them(practice: Path) -> None:
    (practice / "idle.py").write_text("def on_task(task_item, sandboxes):\n    return 1\n", encoding="utf-8")
    store = str(practice / "store.db")
    with pytest.raises(subprocess.CalledProcessError):  # its answer is wrong
        imported(practice, "run", "practice", "--agent", "python:idle:on_task", "--store", store)
    modules = set((practice / "modules.txt").read_text(encoding="utf-8").splitlines())
    assert "clerkship.engine.trial" in modules
    assert of_packages(modules, {"clerkship.traces", "clerkship.playground.traces"}) == set()
