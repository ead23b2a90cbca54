"""The CI files work: their commands exist, and both jobs run."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup

from clerkship.cli.app import app
from clerkship.suite_files.yaml import parse_yaml
from tests.choices import mark_slow_after
from tests.command_server import get_command_path

ROOT = Path(__file__).parent.parent
GITHUB = ROOT / "examples" / "ci" / "github" / "clerkship.yml"
GITLAB = ROOT / "examples" / "ci" / "gitlab" / ".gitlab-ci.yml"
TEMPLATES = ROOT / "src" / "clerkship" / "service" / "templates" / "project"
GUIDE = ROOT / "docs" / "guide" / "in_ci.md"
OURS = [GITHUB, GITLAB, TEMPLATES / "dot.github" / "workflows" / "practice.yml", TEMPLATES / "dot.gitlab-ci.yml"]
GIT = {f"GIT_{role}_{what}": "x@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
Recipe = dict[str, Any]


def read(path: Path) -> Recipe:
    """Return a recipe as data."""
    data = parse_yaml(path.read_text(encoding="utf-8"), path.name).data
    assert isinstance(data, dict)
    return data


def steps(path: Path, job: str) -> list[str]:
    """Return the scripts of a job, in order; GitLab runs a list of lines in one shell."""
    recipe = read(path)
    if "jobs" in recipe:
        return [step["run"] for step in recipe["jobs"][job]["steps"] if "run" in step]
    before = recipe.get("default", {}).get("before_script", [])
    return ["\n".join([*before, *recipe[job]["script"]])]


def jobs(path: Path) -> list[str]:
    """Return the names of the jobs."""
    recipe = read(path)
    return list(recipe["jobs"]) if "jobs" in recipe else [name for name, job in recipe.items() if "script" in job]


def calls(text: str) -> list[list[str]]:
    """Return the words of each call of our command in a script."""
    joined = re.sub(r"\\?\n(?=\s*--)", " ", text)
    lines = [re.split(r"\s(?:\|\||&&|>>|;)\s?", line)[0] for line in joined.splitlines()]
    return [shlex.split(line.strip()) for line in lines if line.strip().startswith("clerkship ")]


def options(words: list[str]) -> tuple[set[str], set[str]]:
    """Return the options of a call, and the options that the command has."""
    command: Any = app
    rest = words[1:]
    while isinstance(command, TyperGroup):
        assert rest[0] in command.commands, words
        command, rest = command.commands[rest[0]], rest[1:]
    command = command.loaded
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return {word for word in rest if re.match(r"-{1,2}[a-z]", word)}, known


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_commands_in_recipes_exist(path: Path) -> None:
    found = [words for job in jobs(path) for text in steps(path, job) for words in calls(text)]
    assert len(found) >= 2
    for words in found:
        given, known = options(words)
        assert given <= known, words


def test_commands_in_recipes_of_the_guide_exist() -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    found = [shlex.split(f"clerkship {line}") for block in blocks for line in re.findall(r"clerkship ([a-z].*)", block)]
    for words in found:
        given, known = options([word for word in words if word not in ("||", "true")])
        assert given <= known, words


def test_jobs_for_pull_requests_have_no_keys() -> None:
    text, recipe = GITHUB.read_text(encoding="utf-8"), read(GITHUB)
    assert "pull_request_target" not in text
    assert recipe["permissions"] == {"contents": "read"}
    assert "secrets." not in str(recipe["jobs"]["replay"])
    assert "permissions" not in recipe["jobs"]["replay"]
    assert "!github.event.repository.fork" in recipe["jobs"]["record"]["if"]
    assert [step["name"] for step in recipe["jobs"]["record"]["steps"] if "secrets." in str(step)] == [
        "Hold the judge against people, where some conversations are labelled",
        "Practise with the models, and record",
    ]
    gitlab = read(GITLAB)
    assert "TOKEN" not in str(gitlab["replay"])
    assert "merge_request_event" not in str(gitlab["record"]["rules"])


def test_recipes_record_nightly_and_not_on_push() -> None:
    github, gitlab = read(GITHUB), read(GITLAB)
    assert {"push", "pull_request", "schedule", "workflow_dispatch"} == set(github["on"])
    assert "schedule" in github["jobs"]["record"]["if"]
    assert "schedule" not in github["jobs"]["replay"]["if"]
    assert "schedule" in str(gitlab["record"]["rules"])
    assert "schedule" not in str(gitlab["replay"]["rules"])
    assert gitlab["replay"]["artifacts"]["reports"]["junit"] == "out/junit.xml"
    assert gitlab["replay"]["artifacts"]["when"] == "always"


class Runner:
    """A CI machine: a checkout, and the shell that runs each step."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.summary, self.output = folder / "checkout", folder / "summary.md", folder / "output"
        self.origin = folder / "origin.git"
        example = shutil.ignore_patterns("__pycache__", ".clerkship", "out")
        shutil.copytree(ROOT / "examples" / "order_support", self.folder, ignore=example)
        for path in (self.folder / "eval" / "scenarios").iterdir():
            if path.stem != "question_in_between":  # one without a judge, and one with
                path.unlink()
        shutil.move(self.folder / "judged" / "order_delay.yml", self.folder / "eval" / "scenarios" / "judged_delay.yml")
        (self.folder / ".gitignore").write_text("__pycache__\n.clerkship\nout\n", encoding="utf-8")
        self.programs = folder / "bin"
        self.programs.mkdir()
        self.program("pip", "exit 0")  # we are installed
        self.summary.touch()
        self.output.touch()

    def program(self, name: str, body: str) -> None:
        """Create a program on the path."""
        path = self.programs / name
        path.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def sh(self, text: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run one step, as a CI does."""
        given = {
            name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "CLERKSHIP", "GIT_"))
        }
        given |= {"GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_OUTPUT": str(self.output), **GIT, **environ}
        given["PATH"] = f"{self.programs}{os.pathsep}{get_command_path()}"
        command = ["bash", "-eo", "pipefail", "-c", text]
        return subprocess.run(
            command, cwd=self.folder, env=given, capture_output=True, text=True, check=False, timeout=120
        )

    def job(self, path: Path, job: str, **environ: str) -> list[subprocess.CompletedProcess[str]]:
        """Run all steps of a job, also after one that failed, as the recipes request."""
        recipe = read(path)
        variables = {name: str(value) for name, value in recipe["env" if "env" in recipe else "variables"].items()}
        given = {"TRIALS": "1", "CODE": "0", "INSTALL_CLERKSHIP_FROM": "vendor/clerkship", **environ}
        return [self.sh(text, **{**variables, **given}) for text in steps(path, job)]

    def commit(self) -> None:
        """Commit all files to a repository with a remote."""
        there = shlex.quote(str(self.origin))
        done = self.sh(
            f"git init --quiet --bare {there}; git init --quiet --initial-branch main; git add .; "
            f"git commit --quiet -m x; git remote add origin {there}; git push --quiet origin main"
        )
        assert done.returncode == 0, done.stderr

    def pushed(self, branch: str) -> str:
        """Return the files that the last commit of a branch changed on the remote."""
        return self.sh(f"git --git-dir {shlex.quote(str(self.origin))} show --stat {branch}").stdout

    def record(self) -> None:
        """Record cassettes on a developer's machine."""
        done = self.sh("clerkship run eval -a python:bot:OrderBot --judge scripted:judge.json --record")
        assert done.returncode == 0, done.stdout


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A runner with the project of the order support example."""
    return Runner(tmp_path)


def codes(done: list[subprocess.CompletedProcess[str]]) -> list[int]:
    """Return the exit codes of the steps."""
    return [step.returncode for step in done]


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_recipes_install_from_a_named_source_and_say_so_if_it_is_missing(path: Path, runner: Runner) -> None:
    runner.program("pip", 'echo "pip got $*"')
    recipe = read(path)
    assert "INSTALL_CLERKSHIP_FROM" in recipe["env" if "env" in recipe else "variables"]
    for job in jobs(path):
        install = next(text for text in steps(path, job) if "pip install" in text).partition("\n")[0]
        found = runner.sh(install, INSTALL_CLERKSHIP_FROM="git+https://host/clerkship.git@1a2b3c")
        assert found.stdout == "pip got install git+https://host/clerkship.git@1a2b3c\n"
        missing = runner.sh(install, INSTALL_CLERKSHIP_FROM="")
        assert missing.returncode != 0
        assert "INSTALL_CLERKSHIP_FROM: is not set, see the top of" in missing.stderr


@pytest.mark.parametrize("path", mark_slow_after(1, [GITHUB, GITLAB]), ids=["github", "gitlab"])
def test_push_is_replayed_without_a_model_and_reported(path: Path, runner: Runner) -> None:
    runner.record()
    done = runner.job(path, "replay", JUDGE="scripted:judge.json", PERSON="none")
    assert set(codes(done)) == {0}, [step.stdout + step.stderr for step in done]
    assert "replayed" in "".join(step.stdout for step in done)
    assert {file.name for file in (runner.folder / "out").iterdir()} == {"junit.xml", "report.html", "summary.md"}
    assert ("Agent handles delayed order gracefully" in runner.summary.read_text(encoding="utf-8")) == (path is GITHUB)


WORSE = {
    GITHUB: ("within 30 days of", "within a month of", 1, "30 days"),  # what an assertion looks for
    GITLAB: ("I am sorry, order {order_id} is", "Order {order_id} is", 2, "--refresh records what is missing"),
}


@pytest.mark.parametrize("path", mark_slow_after(1, WORSE), ids=["asserted", "never judged"])
def test_changed_agent_fails_the_job_and_reports_are_written(path: Path, runner: Runner) -> None:
    before, after, code, said = WORSE[path]
    runner.record()
    bot = runner.folder / "bot.py"
    text = bot.read_text(encoding="utf-8")
    assert before in text
    bot.write_text(text.replace(before, after), encoding="utf-8")
    done = runner.job(path, "replay", JUDGE="scripted:judge.json", PERSON="none")
    assert max(codes(done)) == code
    assert said in "".join(step.stdout for step in done)
    assert (runner.folder / "out" / "junit.xml").exists()


def test_first_nightly_job_on_github_records_and_opens_a_pull_request(runner: Runner) -> None:
    runner.commit()
    runner.program("gh", 'echo "$@" >> ../gh.txt; [ "$2" != view ]')
    done = runner.job(GITHUB, "record", JUDGE="scripted:judge.json", PERSON="none")
    assert set(codes(done)) == {0}, [step.stdout + step.stderr for step in done]
    assert "code=0" in runner.output.read_text(encoding="utf-8")
    assert "eval/scenarios/cassettes/judged_delay.jsonl" in runner.pushed("clerkship/recordings")
    assert "pr create --head clerkship/recordings" in (runner.folder.parent / "gh.txt").read_text(encoding="utf-8")
    again = runner.sh(steps(GITHUB, "record")[-1], EVAL="eval")
    assert again.stdout == "nothing new was said\n"


@pytest.mark.slow
def test_later_nightly_job_on_gitlab_records_and_opens_a_merge_request(runner: Runner) -> None:
    runner.record()
    runner.commit()
    judge = runner.folder / "judge.json"
    text = judge.read_text(encoding="utf-8")
    assert "The source says both." in text
    judge.write_text(text.replace("The source says both.", "Both stand in the source."), encoding="utf-8")
    server = {
        "CI_SERVER_PROTOCOL": "https",
        "CI_SERVER_HOST": "git.example.com",
        "CI_PROJECT_PATH": "desk/bot",
        "CI_DEFAULT_BRANCH": "main",
        "CLERKSHIP_PUSH_TOKEN": "sesame",
    }
    there = shlex.quote(str(runner.origin))
    runner.sh(f"git -C {there} config receive.advertisePushOptions true")
    runner.sh(f"git config url.{there}.insteadOf https://oauth2:sesame@git.example.com/desk/bot.git")
    [done] = runner.job(GITLAB, "record", JUDGE="scripted:judge.json", PERSON="none", **server)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "= same 2" in done.stdout
    assert "eval/scenarios/cassettes/judged_delay.jsonl" in runner.pushed("clerkship/recordings")


@pytest.mark.parametrize("path", mark_slow_after(1, [GITLAB, GITHUB]), ids=["gitlab", "github"])
def test_nightly_job_without_a_model_fails_and_opens_no_request(path: Path, runner: Runner) -> None:
    runner.commit()
    (runner.folder / "judge.json").write_text("[]", encoding="utf-8")
    done = runner.job(path, "record", JUDGE="scripted:judge.json", PERSON="none")
    assert 2 in codes(done)
    if path is GITHUB:
        assert "code=2" in runner.output.read_text(encoding="utf-8")  # by which the offer is not made
    else:
        assert "clerkship/recordings" not in runner.sh(f"git --git-dir {shlex.quote(str(runner.origin))} branch").stdout


def get_guide_recipe(file: str) -> str:
    """Return the recipe that the guide shows for a file."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    [block] = [block for block in blocks if block.startswith(f"# file: {file}\n")]
    return str(block)


@pytest.mark.slow
@pytest.mark.parametrize("file", [".github/workflows/shards.yml", ".gitlab-ci.yml"])
def test_recipes_that_divide_a_run_merge_its_shards(file: str, runner: Runner, tmp_path: Path) -> None:
    recipe = tmp_path / Path(file).name
    (runner.folder / "eval" / "scenarios" / "judged_delay.yml").unlink()  # it needs a model or a recording
    recipe.write_text(get_guide_recipe(file).replace("-k 10", "-k 2"), encoding="utf-8")
    given = {"INSTALL_CLERKSHIP_FROM": "vendor/clerkship", "CI_NODE_TOTAL": "4"}
    for number in range(1, 5):
        for text in steps(recipe, "shard"):
            script = text.replace("${{ matrix.shard }}", str(number))
            assert runner.sh(script, CI_NODE_INDEX=str(number), **given).returncode == 0
    merged = [runner.sh(text, **given) for text in steps(recipe, "verdict")]
    assert codes(merged) == [0] * len(merged), merged[-1].stdout + merged[-1].stderr
    assert 'failures="0"' in (runner.folder / "out" / "junit.xml").read_text(encoding="utf-8")
    (runner.folder / "shard-2.db").unlink()
    (runner.folder / "all.db").unlink()
    failed = runner.sh(steps(recipe, "verdict")[-1], **given)
    assert (failed.returncode, "1 shard is missing: 2/4" in failed.stderr) == (2, True)
