"""Files that `init` and `new` write: they work unchanged, and never replace existing files."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import yaml

from clerkship.cli.app import run
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.extras import EXTRAS
from clerkship.model.errors import InputError
from clerkship.plugin import Assertion
from clerkship.service.scaffold import ProjectKind, fill_template, parse_install_source
from clerkship.service.scaffold_plugin import create_assertion, create_simulator
from clerkship.suite_files.load import load_library
from tests.choices import mark_slow_after
from tests.plugin.outside import clerkship, install_package

KINDS: tuple[ProjectKind, ...] = get_args(ProjectKind)
TASK_KINDS = ("phone", *(kind for kind in KINDS if kind not in ("chat", "phone")))
SIMULATED = {"portal": ["portal", "payer"], "payer": ["x12", "payer"], "phone": ["voice"]}
"""The kinds in the environment of a project, where they are not that of the project alone."""


@pytest.fixture(autouse=True)
def _change_to_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("agent", None)


def _verdicts(capsysbinary: pytest.CaptureFixture[bytes], *arguments: str) -> list[str]:
    capsysbinary.readouterr()
    run(["run", *arguments, "--json"])
    return [task["verdict"] for task in json.loads(capsysbinary.readouterr().out)["tasks"]]


@pytest.mark.long
def test_new_project_validates_and_passes_its_tests(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["init", "mine"]) == 0
    monkeypatch.chdir("mine")
    assert run(["validate", "practice"]) == 0
    assert _verdicts(capsysbinary, "practice", "-a", "python:agent:Agent") == ["pass", "pass"]
    assert _verdicts(capsysbinary, "practice", "-a", "oracle") == ["pass", "pass"]
    assert _verdicts(capsysbinary, "practice", "-a", "nop") == ["fail", "fail"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], capture_output=True, text=True, check=False, timeout=300
    )
    assert "4 passed" in done.stdout, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_new_project_of_a_kind_validates_and_passes_its_tests(
    kind: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["init", "mine", "--kind", kind]) == 0
    monkeypatch.chdir("mine")
    assert run(["validate", "practice"]) == 0
    assert set(_verdicts(capsysbinary, "practice", "-a", "python:agent:Agent")) == {"pass"}
    assert set(_verdicts(capsysbinary, "practice", "-a", "nop")) == {"fail"}
    environment = Path("practice/environment.yml").read_text(encoding="utf-8")
    assert re.findall(r"\bkind: (\w+)", environment) == SIMULATED.get(kind, [kind])
    listed = re.findall(r"^\| `(practice/[\w/]+\.yml)`", Path("README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(str(path) for path in Path("practice").rglob("*.yml"))
    readme = Path("README.md").read_text(encoding="utf-8")
    assert "#?" not in readme
    assert 0 < readme.index("python -m pytest") < readme.index("clerkship new "), "new files fail the tests at first"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], capture_output=True, text=True, check=False, timeout=300
    )
    assert "4 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("kind", ["", *KINDS])
def test_generated_yaml_is_read_by_other_parsers(kind: str) -> None:
    assert run(["init", ".", *(["--kind", kind] if kind else [])]) == 0
    if kind in ("", "chat"):
        assert run(["new", "scenario", "Cancel a visit", "--in", "practice/scenarios"]) == 0
    assert run(["new", "task", "Sort the inbox"]) == 0
    for file in Path("practice").rglob("*.yml"):
        assert yaml.safe_load(file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize("program", ["init", "new task"])
@pytest.mark.parametrize("kind", mark_slow_after(1, TASK_KINDS))
def test_new_task_of_a_kind_passes_with_oracle_and_fails_with_nop(
    kind: str, program: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    if program == "init":
        assert run(["init", ".", "--kind", kind]) == 0
    assert run(["new", "task", "Do the work", "--kind", kind]) == 0
    assert run(["validate", "practice"]) == 0
    task = load_library(Path("practice"), RegisteredCatalog()).tasks["Do the work"]
    assert SIMULATED.get(kind, [kind])[0] in {one.kind for one in task.environment.simulators.values()}
    assert _verdicts(capsysbinary, "practice", "--task", "Do the work", "-a", "oracle") == ["pass"]
    assert _verdicts(capsysbinary, "practice", "--task", "Do the work", "-a", "nop") == ["fail"]


def test_new_task_of_a_kind_uses_a_sandbox_of_that_kind() -> None:
    Path("practice").mkdir()
    Path("practice/a.yml").write_text(
        "environments:\n"
        "  - {name: desk, simulators: {drop: {kind: files}, line: {kind: voice}, other: {kind: voice}}}\n"
        "  - {name: ward, simulators: {drop: {kind: files}, engine: {kind: hl7}}}\n",
        encoding="utf-8",
    )
    for kind, environment, sandbox in (("phone", "desk", "line"), ("hl7", "ward", "engine")):
        assert run(["new", "task", kind, "--kind", kind]) == 0
        assert load_library(Path("practice"), RegisteredCatalog()).tasks[kind].environment.name == environment
        solution = Path(f"practice/solutions/{kind}.py").read_text(encoding="utf-8")
        assert re.findall(r"sandboxes\[\"(\w+)\"\]", solution) == [sandbox]
    assert run(["new", "task", "x", "--kind", "files"]) == 2, "two environments have a file drop"
    assert run(["new", "task", "x", "--kind", "files", "--environment", "ward"]) == 0
    assert load_library(Path("practice"), RegisteredCatalog()).tasks["x"].environment.name == "ward"


def test_project_that_needs_an_extra_says_so_and_installs_it_in_ci(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", "with", "--kind", "fax"]) == 0
    assert "not installed yet" not in capsys.readouterr().out
    monkeypatch.setitem(EXTRAS, "fax", ("no_such_module",))
    assert run(["init", "without", "--kind", "fax"]) == 0
    assert "pip install 'clerkship[fax]'" in capsys.readouterr().out
    assert run(["run", "without/practice", "-a", "oracle"]) == 2
    assert "the extra `fax` is not installed" in capsys.readouterr().err
    assert run(["init", "other", "--kind", "phone"]) == 0
    for file in (".github/workflows/practice.yml", ".gitlab-ci.yml"):
        workflow = Path("without", file).read_text(encoding="utf-8")
        assert yaml.safe_load(workflow)
        assert 'pip install "clerkship[fax]"' in workflow
        assert "clerkship[" not in Path("other", file).read_text(encoding="utf-8")


def test_unknown_kind_of_project_is_refused_and_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "mine", "--kind", "fihr"]) == 2
    assert "fhir" in capsys.readouterr().err
    assert not Path("mine").exists()


def test_ci_files_install_from_the_given_source(capsys: pytest.CaptureFixture[str]) -> None:
    source = "git+https://host.example/clerkship.git@1a2b3c"
    assert run(["init", "mine", "--install-from", source]) == 0
    assert "INSTALL_CLERKSHIP_FROM" not in capsys.readouterr().out
    workflow = Path("mine/.github/workflows/practice.yml").read_text(encoding="utf-8")
    assert f"INSTALL_CLERKSHIP_FROM: ${{{{ vars.INSTALL_CLERKSHIP_FROM || '{source}' }}}}" in workflow
    assert f'INSTALL_CLERKSHIP_FROM: "{source}"' in Path("mine/.gitlab-ci.yml").read_text(encoding="utf-8")
    assert run(["init", "other", "--install-from", ""]) == 0
    assert "In CI, set the variable INSTALL_CLERKSHIP_FROM" in capsys.readouterr().out
    assert run(["init", "third", "--install-from", "x'; echo"]) == 2
    assert not Path("third").exists()


@pytest.mark.parametrize(
    ("record", "source"),
    [
        ({}, ""),
        ({"url": "file:///srv/clerkship", "dir_info": {"editable": True}}, ""),
        ({"url": "https://host/c.whl", "archive_info": {}}, ""),
        (
            {
                "url": "https://host/c.git",
                "vcs_info": {"vcs": "git", "commit_id": "1a2b", "requested_revision": "main"},
            },
            "git+https://host/c.git@1a2b",
        ),
        ({"url": "https://me:secret@host/c.git", "vcs_info": {"vcs": "git", "commit_id": "1a2b"}}, ""),
        ({"url": "file:///srv/c.git", "vcs_info": {"vcs": "git", "commit_id": "1a2b"}}, ""),
        ({"url": "https://host/c'.git", "vcs_info": {"vcs": "git", "commit_id": "1a2b"}}, ""),
    ],
)
def test_source_of_this_installation_is_a_repository_with_its_commit(record: object, source: str) -> None:
    assert parse_install_source(json.dumps(record)) == source


def test_init_keeps_existing_files(capsys: pytest.CaptureFixture[str]) -> None:
    Path("README.md").write_text("mine", encoding="utf-8")
    Path(".gitlab-ci.yml").write_text("mine: {}", encoding="utf-8")
    assert run(["init"]) == 0
    assert "README.md exists, not changed" in capsys.readouterr().out
    assert Path("README.md").read_text(encoding="utf-8") == "mine"
    assert Path(".gitlab-ci.yml").read_text(encoding="utf-8") == "mine: {}"
    assert Path(".github/workflows/practice.yml").exists()
    Path("other").mkdir()
    Path("other/agent.py").write_text("mine", encoding="utf-8")
    assert run(["init", "other"]) == 2
    assert "already exists; nothing was written" in capsys.readouterr().err
    assert [path.name for path in Path("other").iterdir()] == ["agent.py"]


ENVIRONMENTS = {
    "none": "",
    "files": "environment: {name: desk, simulators: {inbox: {kind: files}}}",
    "two drops": "environment: {name: desk, simulators: {a: {kind: files}, b: {kind: files}}}",
    "no drop": "environment: {name: desk, simulators: {talk: {kind: chat}}}",
    "services": "environment: {name: clinic, simulators: {advice: {kind: cds_service}}}",
    "in a list": 'environments: [{name: "front desk: 1", simulators: {in-box: {kind: files}}}]',
}


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
@pytest.mark.parametrize("name", mark_slow_after(1, ['Ärztin: "jetzt" #1 {{ x }} *', "Refill a prescription"]))
def test_new_task_passes_with_oracle_and_fails_with_nop(
    environment: str, name: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    if environment:
        Path("practice").mkdir()
        Path("practice/place.yml").write_text(environment, encoding="utf-8")
    assert run(["new", "task", name]) == 0
    assert run(["validate", "practice"]) == 0
    assert list(load_library(Path("practice"), RegisteredCatalog()).tasks) == [name]
    assert _verdicts(capsysbinary, "practice", "-a", "oracle") == ["pass"]
    assert _verdicts(capsysbinary, "practice", "-a", "nop") == ["fail"]
    assert run(["new", "task", name]) == 2
    assert b"already" in capsysbinary.readouterr().err


def test_every_key_of_a_new_task_has_a_comment() -> None:
    assert run(["new", "task", "One"]) == 0
    lines = Path("practice/tasks/one.yml").read_text(encoding="utf-8").splitlines()
    keys = [number for number, line in enumerate(lines) if line.startswith("  ") and line[2].isalpha()]
    assert len(keys) == 8
    assert [lines[number] for number in keys if not lines[number - 1].startswith("  # ")] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["task", "***"], "is not a valid task name"),
        (["task", "a\nb"], "is not a valid task name"),
        (["task", "x", "--in", "several"], "give --environment with one of east, north"),
        (["task", "x", "--in", "several", "--environment", "eest"], "did you mean `east`?"),
        (["task", "x", "--in", "several", "--environment", "eest", "--kind", "fax"], "did you mean `east`?"),
        (["task", "x", "--in", "several", "--kind", "phone"], "no sandbox of kind `voice` in several"),
        (
            ["task", "x", "--in", "several", "--kind", "phone"],
            "(environment `east`, `north`); add `phone: {kind: voice}`",
        ),
        (["task", "x", "--in", "several", "--environment", "east", "--kind", "payer"], "(environment `east`)"),
        (["task", "x", "--in", "new", "--kind", "chat"], "use clerkship new scenario x --in new/scenarios"),
        (["simulator", "pager"], "`pager` is not a prefix and a name"),
        (["simulator", "Acme.pager"], "write a prefix and a name in lower case"),
        (["simulator", "acme.pager.night"], "is not a prefix and a name"),
        (["simulator", "clerkship.pager"], "the prefix `clerkship` is reserved"),
        (["simulator", "acme.class"], "is not a prefix and a name"),
        (["assertion", "paged"], "is not a prefix and a name"),
        (["assertion", "acme.x", "--in", "odd"], "it cannot be read"),
        (["assertion", "acme.x", "--in", "theirs"], "use the name globex.x"),
    ],
)
def test_invalid_arguments_are_refused_and_nothing_is_written(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, file, text in (
        ("several", "a.yml", "environments: [{name: east}, {name: north}]"),
        ("odd", "pyproject.toml", "["),
        ("theirs", "pyproject.toml", '[project.entry-points."clerkship.plugins"]\nglobex = "g:PLUGIN"'),
    ):
        Path(folder).mkdir()
        Path(folder, file).write_text(text, encoding="utf-8")
    before = sorted(Path().rglob("*"))
    assert run(["new", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert sorted(Path().rglob("*")) == before


def test_new_task_uses_the_named_environment() -> None:
    Path("practice").mkdir()
    Path("practice/a.yml").write_text("environments: [{name: east}, {name: west}]", encoding="utf-8")
    assert run(["new", "task", "x", "--environment", "west"]) == 0
    assert load_library(Path("practice"), RegisteredCatalog()).tasks["x"].environment.name == "west"


@pytest.mark.slow
def test_new_assertion_package_passes_its_tests(tmp_path: Path) -> None:
    made = create_assertion("acme.patient_was_paged", tmp_path)
    assert made.to_do == []
    project = tmp_path / "acme_patient_was_paged"
    install_package(project / "src", "acme_patient_was_paged", None)
    done = clerkship(project / "src", "plugins", cwd=project)
    assert "assertions acme.patient_was_paged" in done.stdout
    done = clerkship(project / "src", "run", "practice", "-a", "oracle", cwd=project)
    assert done.returncode == 0, done.stdout
    command = [sys.executable, "-c", "import pytest, sys; sys.exit(pytest.main(['-q']))"]
    tested = subprocess.run(
        command,
        cwd=project,
        env={"PYTHONPATH": str(project / "src"), "PATH": ""},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert b"2 passed" in tested.stdout, tested.stdout


def test_any_simulator_name_gives_a_valid_package(tmp_path: Path) -> None:
    names = ["spec", "message_sent", "receive", "handle", "null", "clock", "on", "state", "x1"]
    for name in names:
        create_simulator(f"acme.{name}", tmp_path)
        create_assertion(f"globex.{name}", tmp_path)
        for package in (f"acme_{name}", f"globex_{name}"):
            install_package(tmp_path / package / "src", package, None, package.partition("_")[0])
    code = """
import sys
from pathlib import Path
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.extras import EXTRAS
from clerkship.suite_files.load import load_library
for name in sys.argv[1:]:
    projects = [Path(f"{prefix}_{name}").resolve() for prefix in ("acme", "globex")]
    sys.path[:0] = [str(project / "src") for project in projects]
    catalog = RegisteredCatalog()
    assert len(catalog.plugins) == 2, (name, catalog.broken)
    for project in projects:
        load_library(project / "practice", catalog)
    del sys.path[:2]
"""
    subprocess.run([sys.executable, "-c", code, *names], check=True, timeout=60)


@pytest.mark.parametrize("name", ["check", "assertion", "evidence", "field", "expected", "class_var"])
def test_assertion_class_does_not_clash_with_imports(name: str, tmp_path: Path) -> None:
    create_assertion(f"acme.{name}", tmp_path)
    source = (tmp_path / f"acme_{name}" / "src" / f"acme_{name}" / f"{name}.py").read_text(encoding="utf-8")
    made: dict[str, object] = {}
    exec(source, made)
    [found] = [
        thing for thing in made.values() if isinstance(thing, type) and getattr(thing, "name", "") == f"acme.{name}"
    ]
    assert issubclass(found, Assertion)
    assert found.model_validate({"text": "x"}) is not None


def test_new_assertion_in_a_package_writes_a_file_and_shows_lines_to_add(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    create_simulator("acme.pager", tmp_path)
    assert run(["new", "assertion", "acme.was_quick", "--in", "acme_pager"]) == 0
    text = capsys.readouterr().out
    assert "from acme_pager.was_quick import WasQuick" in text
    assert "assertions=(WasQuick,)" in text
    made: dict[str, object] = {}
    exec(Path("acme_pager/src/acme_pager/was_quick.py").read_text(encoding="utf-8"), made)
    assert isinstance(made["WasQuick"], type)
    assert issubclass(made["WasQuick"], Assertion)
    Path("bare").mkdir()
    Path("bare/pyproject.toml").write_text('[project]\nname = "some-thing"\n', encoding="utf-8")
    found = create_assertion("acme.was_quick", Path("bare"))
    assert found.written == [Path("bare/some_thing/was_quick.py")]
    assert found.to_do[-1] == '[project.entry-points."clerkship.plugins"]\nacme = "some_thing:PLUGIN"'


def test_template_with_an_unknown_placeholder_raises_key_error() -> None:
    assert (
        fill_template("a «b»\n#? x\nonly x\n#? y\nonly y\n#? always\nend\n", {"b": "c"}, ["y"]) == "a c\nonly y\nend\n"
    )
    with pytest.raises(KeyError):
        fill_template("«nobody»", {})


def test_unwritable_target_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="it cannot be written"):
        create_simulator("acme.pager", tmp_path / "file")
