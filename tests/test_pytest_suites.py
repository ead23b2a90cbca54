"""Tasks of suites as tests of pytest: collection, selection, results, and the marker."""

import pytest

# Imported before the sessions in this process, which otherwise would each import their own copy of it.
import clerkship.simulators.files.handle  # noqa: F401
from clerkship.cli.app import run as clerkship_command

pytest_plugins = ["pytester"]

TASKS = """
environment: {name: desk, simulators: {drop: {kind: files}}}
tasks:
  - name: Move a file
    tags: [files]
    criteria: [{label: It is there, gate: true, assertion: {file_present: {path: out.txt, text: {contains: moved}}}}]
  - name: Say five
    criteria: [{label: Five it is, assertion: {answer_matches: 5}}]
  - name: Say what you like
  - name: Be polite
    criteria: [{label: Polite, assertion: {judged: Was it polite?}}]
"""
MORE = "task: {name: Say six, tags: [sums], criteria: [{label: Six, assertion: {answer_matches: 6}}]}"
AGENT = "def answer(task_item):\n    return 5\n"
FIVE = ("--clerkship-agent", "python:my_agent:answer")


@pytest.fixture
def project(keep_imports: None, pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with a suite of two files, an agent, a Python test and strict settings."""
    suite = pytester.mkdir("practice")
    suite.joinpath("desk.yml").write_text(TASKS)
    suite.joinpath("tasks").mkdir()
    suite.joinpath("tasks", "six.yml").write_text(MORE)
    pytester.makepyfile(my_agent=AGENT, test_own="def test_own():\n    pass\n")
    pytester.makeini(
        "[pytest]\nfilterwarnings = error\npythonpath = .\n"
        "addopts = --strict-markers --strict-config -p no:xdist -p no:schemathesis\n"
    )
    return pytester


def test_each_task_is_an_item_with_its_result(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess("--clerkship=practice", *FIVE, "-v", "-rA")
    result.assert_outcomes(passed=1, failed=2, skipped=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "clerkship: agent python:my_agent:answer, suites practice",
            "practice/desk.yml::Move a file FAILED*",
            "practice/desk.yml::Say five PASSED*",
            "practice/desk.yml::Say what you like SKIPPED (no criterion was judged)*",
            "practice/desk.yml::Be polite ERROR*",
            "practice/tasks/six.yml::Say six FAILED*",
            "*ERROR at setup of Be polite*",
            "Inconclusive: Could not be judged: “Polite”.",
            "*_ Move a file _*",
            "Fail: A gate failed, so the verdict is fail, whatever the score: “It is there”.",
            "✗ It is there",
            "      expected at least 1",
            "      actual   0",
            "details: *clerkship show run-* 'Move a file' --events --store *store.db*",
            "ERROR practice/desk.yml::Be polite - Failed: Inconclusive: *",
            "FAILED practice/desk.yml::Move a file - Failed: Fail: *",
        ]
    )
    assert "test_own" not in result.stdout.str(), "the option without other paths runs only the suite"
    assert "pytest_plugin.py" not in result.stdout.str()


def test_junit_of_pytest_has_failure_error_and_skipped(project: pytest.Pytester) -> None:
    project.runpytest_inprocess("--clerkship=practice", *FIVE, "--junit-xml=junit.xml", "-o", "junit_family=xunit2")
    xml = project.path.joinpath("junit.xml").read_text(encoding="utf-8")
    assert 'errors="1" failures="2" skipped="1" tests="5"' in xml


@pytest.mark.parametrize(
    ("arguments", "selected"),
    [
        (["-k", "five"], {"Say five"}),
        (["-k", "files or sums"], {"Move a file", "Say six"}),
        (["-k", "desk and say"], {"Say five", "Say what you like"}),
        (["practice/desk.yml::Say five"], {"Say five"}),
        (["practice/tasks"], {"Say six"}),
        (["test_own.py"], {"test_own"}),
        ([], {"Move a file", "Say five", "Say what you like", "Be polite", "Say six", "test_own"}),
        (["test_own.py", "--clerkship=practice/tasks/six.yml"], {"test_own", "Say six"}),
    ],
)
def test_keywords_tags_and_node_ids_select_tasks_of_the_suites_in_the_ini_file(
    project: pytest.Pytester, arguments: list[str], selected: set[str]
) -> None:
    settings = ["-o", "clerkship_suites=practice", "-o", "clerkship_agent=python:my_agent:answer"]
    result = project.runpytest_inprocess(*settings, *arguments, "--collect-only", "-q")
    assert {line.rpartition("::")[2] for line in result.outlines if "::" in line} == selected


def test_yaml_file_on_the_command_line_needs_only_an_agent(project: pytest.Pytester) -> None:
    project.runpytest_inprocess("practice/tasks/six.yml", "--clerkship-agent=nop").assert_outcomes(failed=1)
    assert project.runpytest_inprocess("practice/tasks/six.yml").ret == pytest.ExitCode.USAGE_ERROR
    result = project.runpytest_inprocess("practice", "--clerkship-agent=nop")
    result.stdout.fnmatch_lines(["clerkship: agent nop, suites (none: name them with --clerkship PATH)"])


def test_agent_and_options_can_be_fixtures_of_the_project(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pytest

        class Agent:
            def on_task(self, task_item, sandboxes):
                if "drop" in sandboxes:
                    sandboxes["drop"].write("out.txt", "moved")
                return 6

        @pytest.fixture
        def clerkship_agent():
            return Agent

        @pytest.fixture(scope="module", autouse=True)
        def of_the_module(request):
            yield

        @pytest.fixture
        def clerkship_options():
            return {"judge": "none", "trials": 2}
        """
    )
    result = project.runpytest_inprocess("--clerkship=practice", "-rA")
    result.assert_outcomes(passed=2, failed=1, skipped=2)
    result.stdout.fnmatch_lines(["Say five", "  Fail: 0 of 1 criteria passed.", "Say five (trial 2)"])


def test_missing_agent_is_an_error_that_says_what_to_do(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess("--clerkship=practice/tasks/six.yml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["no agent for the tasks of the suites: give --clerkship-agent, *"])


def test_option_is_relative_to_the_working_folder_and_the_ini_setting_to_the_root(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.mkdir("deep")
    monkeypatch.chdir(project.path / "deep")
    found = project.runpytest_inprocess("--clerkship=../practice/tasks", *FIVE, "--collect-only", "-q")
    found.stdout.fnmatch_lines(["practice/tasks/six.yml::Say six"])
    settings = ("-o", "clerkship_suites=./practice/tasks", "-o", "clerkship_agent=nop")
    found = project.runpytest_inprocess(*settings, "../practice", "--collect-only", "-q")
    found.stdout.fnmatch_lines(["practice/tasks/six.yml::Say six"])


def test_missing_suite_is_a_usage_error(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess("--clerkship=nowhere", *FIVE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --clerkship nowhere: there is no such file or folder"])


def test_mistakes_in_a_suite_are_one_collection_error_with_all_messages(project: pytest.Pytester) -> None:
    project.path.joinpath("practice", "tasks", "bad.yml").write_text("task:\n  name: B\n  critera: []\n")
    project.path.joinpath("practice", "tasks", "worse.yml").write_text("task:\n  name: W\n  timeout: soon\n")
    result = project.runpytest_inprocess("--clerkship=practice", *FIVE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "practice/tasks/bad.yml:3:3: task.critera: unknown key `critera`; did you mean `criteria`?",
            "practice/tasks/worse.yml:3:12: *",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_suite_is_loaded_once_for_all_its_tasks(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import clerkship.service.testing as collection

        load, loads = collection.load_suite, []
        collection.load_suite = lambda *given: loads.append(1) or load(*given)

        def pytest_terminal_summary(terminalreporter):
            terminalreporter.write_line(f"loaded {len(loads)} times")
        """
    )
    result = project.runpytest_subprocess("--clerkship=practice", *FIVE)
    result.stdout.fnmatch_lines(["loaded 1 times"])


@pytest.mark.slow
def test_items_are_distributed_by_xdist(project: pytest.Pytester) -> None:
    arguments = ("-n", "2", "--clerkship=practice", *FIVE, "--clerkship-store=runs.db")
    result = project.runpytest_subprocess("-o", "addopts=", *arguments)
    result.assert_outcomes(passed=1, failed=2, skipped=1, errors=1)
    result.stdout.fnmatch_lines(["✗ It is there"])


def test_marker_runs_a_test_for_each_task(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_marked="""
        import pytest
        from my_agent import answer

        @pytest.mark.clerkship("practice", tags=["files", "sums"])
        def test_by_tag(clerkship, clerkship_task):
            assert not clerkship.run(clerkship_task, agent=answer).passed
            assert clerkship_task.tags

        @pytest.mark.clerkship("practice/desk.yml::Say five", "practice/tasks/six.yml")
        def test_by_file(clerkship_result):
            assert clerkship_result.passed
        """
    )
    result = project.runpytest_inprocess("test_marked.py", *FIVE, "-v", "-k", "test_by")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_marked.py::test_by_tag[[]Move a file[]] PASSED*",
            "test_marked.py::test_by_tag[[]Say six[]] PASSED*",
            "test_marked.py::test_by_file[[]Say five[]] PASSED*",
            "test_marked.py::test_by_file[[]Say six[]] FAILED*",
            "E         ✗ Six",
        ]
    )


def test_marker_with_mistakes_is_a_collection_error(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_marked="""
        import pytest

        @pytest.mark.clerkship("nowhere")
        def test_path(clerkship_task): ...
        """,
        test_keyword="""
        import pytest

        @pytest.mark.clerkship("practice", tag="files")
        def test_keyword(clerkship_task): ...
        """,
    )
    result = project.runpytest_inprocess("test_marked.py", "test_keyword.py")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        ["nowhere: there is no such file or folder", "the marker clerkship takes paths, task and tags: *"]
    )


def test_task_fixture_without_the_marker_says_what_is_missing(project: pytest.Pytester) -> None:
    project.makepyfile(test_marked="def test_it(clerkship_task): ...")
    result = project.runpytest_inprocess("test_marked.py")
    result.stdout.fnmatch_lines(['*the fixture `clerkship_task` needs the marker: @pytest.mark.clerkship("*'])


def test_marker_and_fixture_take_a_published_version(project: pytest.Pytester) -> None:
    assert clerkship_command(["publish", "practice", "--as", "practice@1"]) == 0
    project.path.joinpath("practice").rename(project.path.joinpath("gone"))
    project.makepyfile(
        test_marked="""
        import pytest
        from my_agent import answer

        @pytest.mark.clerkship("practice@1", task=["Say five", "Say six"])
        def test_tasks(clerkship, clerkship_task):
            assert clerkship.run(clerkship_task, agent=answer).passed == (clerkship_task.name == "Say five")

        @pytest.mark.clerkship("practice@1::Say five")
        def test_case(clerkship_result):
            assert clerkship_result.passed
            assert clerkship_result.run.published.name == "practice@1"

        def test_path(clerkship):
            assert clerkship.run("practice@1::Say five", agent=answer).passed
        """
    )
    result = project.runpytest_inprocess("test_marked.py", *FIVE, "-v", "-k", "test_tasks or test_case or test_path")
    result.assert_outcomes(passed=4)
