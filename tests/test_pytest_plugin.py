"""The pytest plug-in, in its own sessions: results, explanations of failures, and imports."""

import subprocess
import sys

import pytest

from tests.front_desk import SUITE

pytest_plugins = ["pytester"]

TASKS = """
environment: {name: desk, simulators: {drop: {kind: files}}}
tasks:
  - name: Move a file
    tags: [files]
    criteria: [{label: It is there, gate: true, assertion: {file_present: {path: out.txt, text: {contains: moved}}}}]
  - name: Say five
    criteria: [{label: Five it is, assertion: {answer_matches: 5}}]
"""
AGENT = """
class Agent:
    def on_task(self, task_item, sandboxes):
        sandboxes["drop"].write("out.txt", "it moved")
        return 5
"""


@pytest.fixture
def session(keep_imports: None, pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with a suite, an agent and strict settings."""
    pytester.mkdir("suites").joinpath("desk.yml").write_text(TASKS)
    pytester.makepyfile(my_agent=AGENT)
    pytester.makeini("[pytest]\nfilterwarnings = error\naddopts = --strict-markers --strict-config\npythonpath = .\n")
    return pytester


def test_run_accepts_every_form_of_agent_and_result_has_all_attributes(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        import math
        from pathlib import Path
        from my_agent import Agent

        def test_class(clerkship):
            result = clerkship.run("suites", agent=Agent, trials=3, seed=7, timeout=5, concurrency=2)
            assert result.passed and result
            assert result.failed == []
            assert result.pass_rate == 1.0
            assert (len(result.task_runs), result.run.seed, result.run.trials) == (6, 7, 3)
            assert result.run.solver == "python:my_agent:Agent"

        def test_instance(clerkship):
            assert clerkship.run("suites/desk.yml", agent=Agent()).passed

        def test_function(clerkship):
            def five(task_item):
                return 5
            result = clerkship.run("suites", agent=five)
            assert not result.passed
            assert [task_run.task for task_run in result.failed] == ["Move a file"]
            assert result.pass_rate == 0.5
            assert clerkship.run("suites", agent=five, task="Say*").passed
            assert not clerkship.run("suites", agent=five, tags="files")

        async def ignored(): ...

        def test_reference(clerkship):
            assert clerkship.run("suites", agent="python:my_agent:Agent").passed
            assert not clerkship.run("suites", agent="nop").passed

        def test_log_and_report(clerkship, tmp_path):
            result = clerkship.run(Path("suites"), agent=Agent)
            assert "files.file.written" in [event["kind"] for event in result.events("Move")]
            page = result.report(tmp_path / "deep" / "report.html")
            assert "Say five" in page.read_text(encoding="utf-8")
            assert (tmp_path / ".clerkship" / "store.db").exists()

        def test_nothing_graded_is_no_rate(clerkship, tmp_path):
            (tmp_path / "t.yml").write_text("task: {name: A}")
            assert math.isnan(clerkship.run(tmp_path / "t.yml", agent=lambda task_item: "done").pass_rate)
        """
    )
    session.runpytest_inprocess().assert_outcomes(passed=6)


def test_failed_assertion_says_why(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        def test_it(clerkship):
            assert clerkship.run("suites", agent="nop", task="Move*").passed
        """
    )
    result = session.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            '>       assert clerkship.run("suites", agent="nop", task="Move*").passed',
            "E       *assert False",
            "E        +  where False = <run-*: 0 of 1 passed>.passed",
            "E       Move a file",
            "E         Fail: A gate failed, so the verdict is fail, whatever the score: "
            "“It is there”; “The agent acted”.",
            "E         ✗ It is there",
            "E               expected at least 1",
            "E               actual   0",
            "E         log: * events, SHA-256 *",
            "E         details: *clerkship show run-* 'Move a file' --events --store *store.db*",
            "test_failed_assertion_says_why.py:2: AssertionError",
            "FAILED test_failed_assertion_says_why.py::test_it - *assert *",
        ]
    )
    assert "testing.py" not in result.stdout.str(), "our own lines are of no interest"


def test_only_assertions_about_a_result_are_explained(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        def test_rate(clerkship):
            result = clerkship.run("suites", agent="nop")
            assert result.pass_rate >= 0.9

        def test_list(clerkship):
            assert clerkship.run("suites", agent=lambda task_item: 1 / 0, task="Say*").failed == []

        def test_else(clerkship):
            assert not clerkship.run("suites", agent="nop").passed
            assert 1 == 2
        """
    )
    text = str(session.runpytest_inprocess("--tb=short").stdout)
    rate, _, rest = text.partition("test_list")
    crash, _, other = rest.partition("test_else")
    assert "assert 0.0 >= 0.9\nE    +  where 0.0 = <run-" in rate
    assert "✗ Five it is" in rate
    assert "the agent crashed: ZeroDivisionError: division by zero" in crash
    assert "✗" not in other.partition("short test summary info")[0]  # which in CI has whole messages


@pytest.mark.slow
def test_assertions_without_rewriting_are_explained(session: pytest.Pytester) -> None:
    session.makepyfile("def test_it(clerkship):\n    assert clerkship.run('suites', agent='nop')\n")
    result = session.runpytest_subprocess("--assert=plain")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E       AssertionError: <run-*: 0 of 2 passed>", "E         ✗ It is there"])


def test_mistakes_in_files_fail_the_test_with_only_their_message(session: pytest.Pytester) -> None:
    session.path.joinpath("suites", "bad.yml").write_text("task:\n  name: B\n  critera: []\n  timeout: soon\n")
    session.makepyfile(
        """
        def test_input(clerkship):
            clerkship.run("suites", agent="nop")

        def test_path(clerkship):
            clerkship.run("nowhere", agent="nop")

        def test_agent(clerkship):
            clerkship.run("suites/desk.yml", agent=object())

        def test_store(clerkship, tmp_path):
            (tmp_path / ".clerkship").write_text("in the way")
            clerkship.run("fine", agent="nop")
        """
    )
    session.mkdir("fine").joinpath("t.yml").write_text("task: {name: A}")
    result = session.runpytest_inprocess()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            '>       clerkship.run("suites", agent="nop")',
            "E       Failed: suites/bad.yml:3:3: task.critera: unknown key `critera`; did you mean `criteria`?",
            "E       suites/bad.yml:4:12: *",
            "E       Failed: nowhere: there is no such file or folder; looked in *",
            "E       Failed: the store * failed: *",
        ],
    )
    text = result.stdout.str()
    for word in ("INTERNALERROR", "During handling", "raise InputError", "load.py"):
        assert word not in text


def test_unknown_keyword_fails_the_test_with_the_nearest_one(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        def test_spelling(clerkship):
            clerkship.run("suites", agent="nop", trails=3, sede=1)
        def test_name_of_an_option(clerkship):
            clerkship.run("suites", agent="nop", no_judge=True)
        def test_plural(clerkship):
            clerkship.run("suites", agent="nop", tasks=["x"])
        def test_threshold(clerkship):
            clerkship.run("suites", agent="nop", threshold=0.9)
        def test_attack(clerkship):
            clerkship.attack("suites", sed=1)
        def test_misspelt_agent(clerkship):
            clerkship.run("suites", agnet="nop")
        def test_no_agent(clerkship):
            clerkship.run("suites")
        """
    )
    done = session.runpytest_inprocess("-p", "no:cacheprovider")
    done.assert_outcomes(failed=7)
    output = done.stdout.str()
    for sentence in (
        "clerkship.run: unknown keyword `trails`; did you mean `trials`?",
        "clerkship.run: unknown keyword `sede`; did you mean `seed`?",
        "clerkship.run: unknown keyword `no_judge`; write `judge='none'`",
        "clerkship.run: unknown keyword `tasks`; write `task`",
        "clerkship.run: unknown keyword `threshold`; write `until_sure`",
        "clerkship.attack: unknown keyword `sed`; did you mean `seed`?",
        "clerkship.run: unknown keyword `agnet`; did you mean `agent`?",
        "clerkship.run: no agent; give agent= with a class",
    ):
        assert sentence in output
    assert "TypeError" not in output


def test_paths_are_resolved_from_the_root_then_from_the_test_file(session: pytest.Pytester) -> None:
    folder = session.mkpydir("deep")
    folder.joinpath("mine").mkdir()
    folder.joinpath("mine", "t.yml").write_text("task: {name: A}")
    folder.joinpath("test_deep.py").write_text("def test_it(clerkship):\n    clerkship.run('mine', agent='nop')\n")
    session.runpytest_inprocess().assert_outcomes(passed=1)


@pytest.mark.parametrize("how", ["option", "ini"])
def test_store_option_stores_the_runs(session: pytest.Pytester, how: str) -> None:
    session.makepyfile("def test_it(clerkship):\n    clerkship.run('suites', agent='oracle')\n")
    arguments = ["--clerkship-store=kept/runs.db"] if how == "option" else ["-o", "clerkship_store=kept/runs.db"]
    session.runpytest_inprocess(*arguments).assert_outcomes(passed=1)
    shown = session.run(sys.executable, "-m", "clerkship", "list", "--store", "kept/runs.db")
    shown.stdout.fnmatch_lines(["*oracle*"])


@pytest.mark.slow
def test_fixture_works_with_xdist(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        import pytest
        from my_agent import Agent

        @pytest.mark.parametrize("n", range(4))
        def test_it(clerkship, n):
            assert clerkship.run("suites", agent="nop" if n == 3 else Agent).passed
        """
    )
    result = session.runpytest_subprocess("-n", "2", "--clerkship-store=runs.db")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["E         ✗ It is there"])


def test_ctrl_c_during_a_run_interrupts_pytest(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        import os, signal

        stopped = []

        def stop(task_item):
            if not stopped:
                stopped.append(True)
                os.kill(os.getpid(), signal.SIGINT)
            return 5

        def test_it(clerkship):
            clerkship.run("suites", agent=stop, trials=500, concurrency=1)

        def test_next():
            raise SystemError("it went on")
        """
    )
    result = session.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "it went on" not in result.stdout.str()


def test_session_without_the_fixture_imports_nothing(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        import sys

        def test_it():
            assert "clerkship.pytest_plugin" in sys.modules
            ours = {name for name in sys.modules if name.startswith("clerkship.")}
            assert ours == {"clerkship.pytest_plugin", "clerkship.old_paths", "clerkship.by_name"}
            assert not {"pydantic", "orjson", "typer", "httptools", "sqlite3"} & set(sys.modules)
        """
    )
    session.runpytest_subprocess("-p", "no:xdist").assert_outcomes(passed=1)


def test_plugin_module_imports_only_pytest() -> None:
    code = "import sys, pytest; before = set(sys.modules); import clerkship.pytest_plugin"
    code += "; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    ours = {f"clerkship.{name}" for name in ("pytest_plugin", "old_paths", "by_name")}
    assert set(done.stdout.split()) == {"clerkship", *ours}


def test_fixture_is_listed_with_an_example(session: pytest.Pytester) -> None:
    result = session.runpytest_inprocess("--fixtures")
    result.stdout.fnmatch_lines(["clerkship -- *", "*assert clerkship.run(*"])


def test_demo_suite_fails_as_expected(session: pytest.Pytester) -> None:
    session.makepyfile(
        f"""
        from tests.front_desk.agent import FrontDesk

        def test_it(clerkship):
            result = clerkship.run({str(SUITE)!r}, agent=FrontDesk)
            assert result.passed
        """
    )
    result = session.runpytest_inprocess()
    result.stdout.fnmatch_lines(
        [
            "E               expected not matches '08:15|Okafor'",
            "E               actual   Of course, happy to help: it is on 2026-03-04 at 08:15 with Dr. Okafor.",
        ]
    )


def test_attack_lists_each_task_that_a_strategy_passes(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        def test_good(clerkship):
            assert clerkship.attack("suites", task="Say five").problems() == []

        def test_only_one(clerkship):
            report = clerkship.attack("suites", only="be-polite")
            assert [one.strategy.name for one in report.outcomes] == ["be-polite"]

        def test_mistake(clerkship):
            clerkship.attack("nowhere")
        """
    )
    result = session.runpytest("-p", "no:xdist")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*there is no such file or folder*"])
