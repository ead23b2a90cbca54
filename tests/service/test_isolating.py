"""Isolated runs: which parts of the store, the tasks and other trials a program sees; which solutions are stored."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.command import CommandSolver
from clerkship.actors.isolation import bubblewrap
from clerkship.actors.isolation.contract import Level, offered
from clerkship.actors.isolation.protected import SharedFiles, installation
from clerkship.actors.webhook import WebhookSolver
from clerkship.model.errors import InputError
from clerkship.report.jsonl import render_jsonl
from clerkship.service import isolating
from clerkship.service.comparing import compare_runs
from clerkship.service.isolating import choose_level, find_masks, find_task_files, isolate_solver
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.publishing import PublishRequest, publish
from clerkship.service.rerun import plan_rerun
from clerkship.service.resume import plan_resume
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore
from clerkship.suite_files.load import find_root
from clerkship.suite_files.published import places
from clerkship.suite_files.published.recordings import find_recordings
from tests.actors.programs import program
from tests.workbench import CATALOG, Workbench

LEVELS = [level for level in offered() if level != "none"]
TASK = """
    environment: {name: desk, simulators: {drop: {kind: files}}}
    task:
      name: Steal
      task_item: {instruction: Do it.}
      solution: solutions/steal.py
      criteria:
        - {label: answers, assertion: {answer_matches: secret-answer}}
"""
OTHER_RUN = "store.db.private/run-other/clerkship-trial/clerkship_task_file.json"
HIDDEN = ["/store.db", "/" + OTHER_RUN, "/suite/a.yml", "/suite/solutions/steal.py", "/reports/r.html", "/.git/HEAD"]
SOLUTION = "def on_task(task_item, sandboxes):\n    return 'secret-answer'\n"
THIEF = """
import glob
def read(path):
    try:
        with open(path, "rb") as file: return len(file.read())
    except OSError as error:
        return type(error).__name__
def attempt(work):
    try: return work()
    except OSError as error: return type(error).__name__
top = {top!r}
message = json.loads(sys.stdin.readline())
siblings = glob.glob(top + "/**/*.json", recursive=True) + glob.glob("/tmp/clerkship-*/*.json")
environ = [pid for pid in os.listdir("/proc") if pid.isdigit()
           and "clk_sbx_" in str(attempt(lambda: open(f"/proc/{{pid}}/environ").read()))]
say({{"answer": {{
    "hidden": [read(top + path) for path in {hidden!r}],
    "written": attempt(lambda: open(top + "/store.db", "ab").close() or "written"),
    "siblings": [path for path in siblings if path != os.environ["CLERKSHIP_TASK_FILE"] and type(read(path)) is int],
    "environ": environ,
    "own": read(os.environ["CLERKSHIP_TASK_FILE"]) > 10,
    "beside": read(top + "/agent/agent.py") > 10,
}}}})
"""


@pytest.fixture
def level(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Level]:
    """Make this machine offer one isolation level."""
    if request.param == "landlock":
        monkeypatch.setattr(bubblewrap, "SYSTEM_FOLDERS", ())
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    _forget()
    yield request.param
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    """Clear the cached probes of the machine."""
    for cached in (offered, bubblewrap.program_file, installation):
        cached.cache_clear()


def suite(bench: Workbench) -> None:
    """Write a task with a solution."""
    bench.write("a.yml", TASK)
    bench.write("solutions/steal.py", SOLUTION)


def read_blobs(store: SqliteStore, run_id: str) -> bytes:
    """Return everything that a store has of a run."""
    run = store.run(run_id)
    lines = render_jsonl(run, store.counts(run.id), (), store.blob)
    return b"".join(lines) + b"".join(store.blob(address) for address in [ran.snapshot for ran in store.each(run.id)])


@pytest.mark.parametrize("level", LEVELS, indirect=True)
def test_isolated_program_sees_no_store_tasks_or_other_trials(bench: Workbench, tmp_path: Path, level: Level) -> None:
    suite(bench)
    for name in ("reports/r.html", ".git/HEAD", OTHER_RUN):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("criteria", encoding="utf-8")
    agent = program(tmp_path, THIEF.format(top=str(tmp_path), hidden=HIDDEN))
    task_runs = bench.run(agent, trials=2, concurrency=2)
    assert bench.result is not None
    assert bench.result.run.isolation == level
    for task_run in task_runs:
        found: Any = task_run.answer
        assert isinstance(found, dict), task_run.agent_error
        assert set(found["hidden"]) <= {"PermissionError", "FileNotFoundError"}
        assert found["written"] in {"PermissionError", "FileNotFoundError", "OSError"}
        assert (found["siblings"], found["environ"]) == ([], [])
        assert (found["own"], found["beside"]) == (True, True)
    assert list((tmp_path / "store.db.private").iterdir()) == [tmp_path / "store.db.private/run-other"]


@pytest.mark.parametrize("level", LEVELS, indirect=True)
def test_isolated_program_cannot_write_a_cache_that_did_not_exist(
    bench: Workbench, tmp_path: Path, level: Level
) -> None:
    cache = tmp_path / "cache"
    suite(bench)
    forge = """
        try:
            os.makedirs({folder!r}, exist_ok=True)
            open({folder!r} + "/page", "w").write("words that are not on the page")
            say({{"answer": "written"}})
        except OSError as error:
            say({{"answer": type(error).__name__}})
    """
    agent = program(tmp_path, forge.format(folder=str(cache / "fax-text")))
    execute(plan_run(RunRequest(path=bench.folder, agent=agent), Settings(cache=cache), CATALOG), bench.store, CATALOG)
    [task_run] = bench.store.task_runs(bench.store.run("latest").id)
    assert task_run.answer, task_run.agent_error
    assert not (cache / "fax-text").exists()


@pytest.mark.parametrize("level", LEVELS, indirect=True)
def test_shipped_suites_are_hidden_in_a_checkout(bench: Workbench, tmp_path: Path, level: Level) -> None:
    shipped = Path(__file__).parent.parent.parent / "suites"
    suite(bench)
    paths = [str(shipped / "revenue/office.yml"), str(shipped.parent / "docs/security.md")]
    source = f"""
        def is_readable(path):
            try:
                with open(path) as file: return file.read() != ""
            except OSError:
                return False
        say({{"answer": [is_readable(path) for path in {paths!r}]}})
    """
    task_run = bench.run_one(program(tmp_path, source))
    assert task_run.answer == [False, True], task_run.agent_error


@pytest.mark.parametrize("level", LEVELS, indirect=True)
def test_published_versions_and_their_recordings_are_hidden(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: Level
) -> None:
    suite(bench)
    bench.write("benchmark.yml", "benchmark: {name: Desk, slug: desk}")
    bench.write("cassettes/a.jsonl", "{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "SHIPPED", tmp_path / "package" / "shipped")
    own, elsewhere, shipped = [tmp_path / name for name in (".clerkship/published", "elsewhere", "package/shipped")]
    publish(PublishRequest(path=bench.folder, cassettes=True), Settings(cache=None), CATALOG)
    shutil.copytree(own, elsewhere)
    shutil.copytree(own, shipped)
    archives = [str(folder / "desk@1.clerkship") for folder in (own, shipped, elsewhere)]
    source = """
        import glob
        def is_readable(path):
            try:
                with open(path, "rb") as file: return file.read() != b""
            except OSError:
                return False
        paths = [*{archives!r}, *glob.glob({recordings!r}, recursive=True)]
        say({{"answer": [path for path in paths if is_readable(path)]}})
    """
    for path, readable in ((bench.folder, archives[2:]), (Path("desk@1"), archives[2:]), (Path(archives[2]), [])):
        recordings = find_recordings(find_root(path))
        assert list(recordings.glob("cassettes/a.jsonl"))
        agent = program(tmp_path, source.format(recordings=f"{recordings}/**/*.jsonl", archives=archives))
        bench.folder = path
        task_run = bench.run_one(agent)
        assert task_run.answer == readable, (path, task_run.agent_error)


def test_other_suites_that_ship_are_hidden_from_an_agent_in_one_of_them() -> None:
    shipped = Path(__file__).resolve().parent.parent.parent / "suites"
    others = {path for path in shipped.iterdir() if path.name != "revenue"}
    files = {shipped / "revenue/office.yml"}
    hidden = set(find_task_files(shipped / "revenue", files, Settings(cache=None), [shipped / "revenue"]))
    assert others | files <= hidden
    assert not {shipped, shipped / "revenue"} & hidden
    assert shipped in find_task_files(shipped, files, Settings(cache=None), [])


def test_private_folders_of_all_runs_are_hidden(bench: Workbench, tmp_path: Path) -> None:
    folder, solver = (
        tmp_path.resolve() / "store.db.private",
        CommandSolver("command:true", ["true"], tmp_path / "agent"),
    )
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")  # a program could have made it
    with isolate_solver(solver, "landlock", (), bench.store.path):
        with isolate_solver(solver, "landlock", (), bench.store.path):
            assert {folder, folder.with_name("reports")} <= set(solver._isolation.hidden)  # a report may come later
            assert solver._isolation.private is not None
            assert solver._isolation.private.parent == folder
            assert len(list(folder.iterdir())) == 2
            assert folder.stat().st_mode & 0o777 == 0o700
        assert len(list(folder.iterdir())) == 1
    assert not folder.exists()
    assert not folder.with_name("reports").exists()


def test_isolate_never_and_isolate_always(bench: Workbench, tmp_path: Path) -> None:
    suite(bench)
    agent = program(tmp_path, "say({'answer': 'secret-answer'})")
    assert bench.run_one(agent, isolate="never").verdict == "pass"
    assert bench.store.run("latest").isolation == "none"
    assert bench.run_one("nop", isolate="always").verdict == "fail"
    assert bench.store.run("latest").isolation == "built-in"
    bench.run_one(lambda task_item, sandboxes: None)
    assert bench.store.run("latest").isolation == "trusted"
    with pytest.raises(InputError, match="cannot be isolated: it runs in the process that grades it"):
        bench.run(lambda task_item, sandboxes: None, isolate="always")
    with pytest.raises(InputError, match="cannot be isolated: it runs on another machine"):
        choose_level(WebhookSolver("http://127.0.0.1:9/agent", b""), "always")
    with pytest.raises(InputError, match="unknown --isolate value 'maybe'"):
        bench.run(agent, isolate="maybe")


def test_resumed_run_requires_the_same_isolation(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolating, "shared_files", SharedFiles)  # this environment may have links elsewhere
    suite(bench)
    agent = program(tmp_path, "say({'answer': 1})")
    bench.run_one(agent, isolate="never")
    assert plan_resume(bench.store, "latest", CATALOG, Settings()).plan.run.isolation == "none"
    assert plan_rerun(bench.store, "latest", CATALOG, Settings()).run.isolation == offered()[0]
    if LEVELS:
        with pytest.raises(InputError, match="was started with isolation `none`"):
            plan_resume(bench.store, "latest", CATALOG, Settings(isolate="always"))
        files = plan_rerun(bench.store, "latest", CATALOG, Settings(cache=None)).hidden
        assert bench.folder.resolve() in files


def test_solutions_are_stored_only_for_oracle_and_else_loaded_from_files(bench: Workbench) -> None:
    suite(bench)
    bench.run_one("nop")
    assert bench.result is not None
    first = bench.result.run.id
    assert b"return 'secret-answer'" not in read_blobs(bench.store, first)
    again = execute(plan_rerun(bench.store, first, CATALOG, Settings(), "oracle"), bench.store, CATALOG)
    assert again.counts.passed == 1
    assert b"return 'secret-answer'" in read_blobs(bench.store, again.run.id)
    assert plan_rerun(bench.store, again.run.id, CATALOG, Settings(), "nop").snapshots[0].solution is None
    comparison = compare_runs(bench.store, first, again.run.id)
    assert [(row.task, row.standing) for row in comparison.rows] == [("Steal", "better")]
    shutil.rmtree(bench.folder)
    assert execute(plan_rerun(bench.store, again.run.id, CATALOG, Settings()), bench.store, CATALOG).counts.passed == 1
    with pytest.raises(InputError, match="no solution of 'Steal': solutions are stored only for `oracle`"):
        plan_rerun(bench.store, first, CATALOG, Settings(), "oracle")


def find_hidden(bench: Workbench, used: set[str], *shown: Path) -> set[str]:
    """Return the paths of the bench that are hidden from an agent with these paths; `.` is the bench itself."""
    root = bench.folder.resolve()
    hidden = find_task_files(bench.folder, {root / name for name in used}, Settings(cache=None), shown)
    return {str(path.relative_to(root)) for path in hidden if path.is_relative_to(root)}


def test_folder_without_the_agent_is_hidden_as_a_whole(bench: Workbench, tmp_path: Path) -> None:
    suite(bench)
    for name in ("notes.txt", ".DS_Store", "a.yml.bak", "solutions/helper.py"):
        bench.write(name, "stray")
    plan = plan_run(RunRequest(path=bench.folder, agent="nop"), Settings(cache=None), CATALOG)
    assert plan.hidden == ()  # nothing is isolated
    used = {"a.yml", "solutions/steal.py"}
    assert find_hidden(bench, used, tmp_path) == {"."}
    assert find_hidden(bench, used, tmp_path, bench.folder / "notes.txt") == {"a.yml", "a.yml.bak", "solutions"}
    outside = tmp_path / "more" / "shared.yml"
    outside.parent.mkdir()
    for file in (outside, outside.with_name("shared.yml~"), outside.with_name("mine.txt")):
        file.touch()
    hidden = find_task_files(bench.folder, {outside}, Settings(cache=None), [tmp_path])
    assert {path.name for path in hidden if path.parent == outside.parent} == {"shared.yml", "shared.yml~"}


def test_files_beside_the_agent_are_hidden_with_their_copies(bench: Workbench) -> None:
    suite(bench)
    own = {"agent.mjs", "package.json", ".env", "node_modules/x/index.js", "a.json", "steal.mjs", "b/lib/helper.js"}
    copies = {"a.yml~", "a.yml.bak", "a.yml.orig", ".a.yml.swp", "a.yml.old", "#a.yml#", "a.bak", "gone.yml.bak"}
    for name in (*own, *copies, "tasks/b.yml", "tasks/notes/answers.txt", "b/c/d.yml", "b/c/e.txt"):
        bench.write(name, "x")
    for name in ("agent.py", "steal.py.orig", "__pycache__/steal.cpython-311.pyc", "__pycache__/agent.cpython-311.pyc"):
        bench.write(f"solutions/{name}", "x")
    used = {"a.yml", "solutions/steal.py", "tasks/b.yml", "b/c/d.yml"}
    assert find_hidden(bench, used, bench.folder) == {"a.yml", *copies, "tasks", "solutions", "b/c"}
    of_solutions = {f"solutions/{name}" for name in ("steal.py", "steal.py.orig", "__pycache__/steal.cpython-311.pyc")}
    found = find_hidden(bench, used, bench.folder, bench.folder / "solutions/agent.py")
    assert found == {"a.yml", *copies, "tasks", *of_solutions, "b/c"}


def test_hidden_folder_with_a_shown_path_is_replaced_by_its_other_entries(bench: Workbench) -> None:
    suite(bench)
    bench.write("notes.txt", "mine")
    root = bench.folder.resolve()
    assert find_masks([root], [root / "solutions"]) == (root / "a.yml", root / "notes.txt", root / "solutions/steal.py")
    assert root / "a.yml" not in find_masks([root], [root / "a.yml", root / "solutions"])
