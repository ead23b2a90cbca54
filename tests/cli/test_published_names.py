"""Commands take the name of a published version as they take a folder."""

import json
from pathlib import Path

import pytest

from clerkship.cli.app import run
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.service.changed_tasks import read_suite_state
from clerkship.service.planning.request import RunRequest
from clerkship.service.publishing import Published, PublishRequest, publish
from clerkship.service.watched_files import find_watched_files
from clerkship.settings import Settings
from clerkship.suite_files.published.archive import open_archive
from tests.cli.terminal import UpProcess
from tests.service.published_bench import SUITE, PublishedBench
from tests.workbench import CATALOG, Workbench


@pytest.fixture
def published(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> PublishedBench:
    """Return a folder in which only an archive is; its suite is gone."""
    published = PublishedBench(bench, monkeypatch)
    published.publish(for_agents=True)
    bench.folder.rename(bench.folder.with_name("gone"))
    return published


@pytest.mark.parametrize(
    ("selection", "name"), [('tasks: ["*"]', "Forms"), ("tasks: [Copy]", "other"), ("tags: [copying]", "other")]
)
def test_another_slug_keeps_what_a_benchmark_of_all_tasks_says(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, selection: str, name: str
) -> None:
    published = PublishedBench(bench, monkeypatch)
    published.write(SUITE.replace('tasks: ["*"]', selection))
    [version] = published.publish("other@3")
    manifest = open_archive(version.path).manifest
    assert (manifest.name, manifest.benchmark.slug, manifest.benchmark.name) == ("other@3", "other", name)
    assert len(manifest.tasks) == 2


def test_number_that_no_version_can_have_is_refused(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    published = PublishedBench(bench, monkeypatch)
    published.write(SUITE.replace("version: 1", "version: 20260302"))
    assert publish(PublishRequest(path=bench.folder), Settings(), CATALOG)[0].version.name == "forms@20260302"
    published.write(SUITE.replace("version: 1", "version: 1000000000"))
    with pytest.raises(InputError, match=r"forms.yml:4:48: benchmark.version: expected at most"):
        publish(PublishRequest(path=bench.folder), Settings(), CATALOG)


def test_name_of_a_file_that_not_every_system_has_is_refused(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    published = PublishedBench(bench, monkeypatch)
    (bench.folder / "forms.yml").rename(bench.folder / "my\\forms.yml")
    with pytest.raises(
        InputError, match=r"the path 'my.*forms.yml' is not one that stays in its folder on every system; rename it"
    ):
        published.publish()


def get_archive(published: PublishedBench) -> Path:
    """Return the path of the complete archive."""
    return published.archives / "forms@1.clerkship"


@pytest.mark.parametrize(
    ("path", "options", "tasks"),
    [
        ("forms@1", (), ["Copy", "Say done"]),
        ("forms@latest", ("--task", "Say"), ["Say done"]),
        ("forms@1", ("--tag", "copying"), ["Copy"]),
        ("forms@1", ("--benchmark", "forms"), ["Copy", "Say done"]),
        ("forms@1::Copy", (), ["Copy"]),
        (".clerkship/published/forms@1.clerkship::Say", (), ["Say done"]),
    ],
)
@pytest.mark.usefixtures("published")
def test_run_selects_tasks_of_a_version(
    path: str, options: tuple[str, ...], tasks: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", path, "--agent", "oracle", "--json", *options]) == 0
    data = json.loads(capfd.readouterr().out)
    assert sorted(each["task"] for each in data["tasks"]) == tasks
    assert data["run"]["published"]["slug"] == "forms"
    assert data["notes"] == data["warnings"] == []


def test_digest_names_a_version(published: PublishedBench, capfd: pytest.CaptureFixture[str]) -> None:
    [again, _] = _publish_again(published)
    assert run(["run", f"sha256:{again.version.digest[:12]}", "--agent", "oracle"]) == 0
    assert capfd.readouterr().out.startswith(f"published forms@1 · sha256:{again.version.digest[:12]}\n")


def _publish_again(published: PublishedBench) -> list[Published]:
    gone = published.bench.folder.with_name("gone")
    gone.rename(published.bench.folder)
    return published.publish(for_agents=True)


@pytest.mark.usefixtures("published")
def test_commands_name_the_version_first(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "forms@1", "--agent", "oracle", "--task", "Copy"]) == 0
    printed = capfd.readouterr().out
    assert printed.startswith("published forms@1 · sha256:")
    assert "not checked" not in printed  # all tasks were checked when they were published
    sentence = printed.splitlines()[0]
    assert run(["show", "latest"]) == run(["show", "latest", "Copy"]) == run(["list"]) == 0
    shown = capfd.readouterr().out
    assert shown.startswith(sentence)
    assert shown.count(sentence) == 3
    assert run(["rescore", "latest", "--by", "forms@1"]) == 0
    assert capfd.readouterr().out.startswith(sentence)


@pytest.mark.usefixtures("published")
def test_validate_attack_and_mutate_take_a_version(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "forms@1"]) == 0
    assert "2 tasks" in capfd.readouterr().out
    assert run(["suite", "attack", "forms@1", "--only", "do-nothing", "--json"]) == 0
    assert run(["suite", "mutate", "forms@1", "--task", "Copy", "--only", "drop", "--json"]) == 0


def test_attacks_on_a_version_for_agents_are_refused(
    published: PublishedBench, capfd: pytest.CaptureFixture[str]
) -> None:
    get_archive(published).unlink()
    assert run(["suite", "mutate", "forms@1"]) == 2
    assert "a version for agents, which has no solutions" in capfd.readouterr().err


def test_last_failed_takes_a_version(published: PublishedBench, capfd: pytest.CaptureFixture[str]) -> None:
    published.user.joinpath("say.py").write_text("def answer(task_item):\n    return 'done'\n")
    published.monkeypatch.syspath_prepend(published.user)
    command = ["run", "forms@1", "--agent", "python:say:answer", "--json"]
    assert run(command) == 1
    capfd.readouterr()
    assert run([*command, "--lf"]) == 1
    assert [each["task"] for each in json.loads(capfd.readouterr().out)["tasks"]] == ["Copy"]


def test_watch_takes_a_version(published: PublishedBench) -> None:
    request = RunRequest(path=Path("forms@1"), agent="oracle")
    assert list(find_watched_files(request).read_states()) == [get_archive(published)]
    state = read_suite_state(request, Settings(), RegisteredCatalog())
    assert state is not None
    assert set(state.tasks) == {"Copy", "Say done"}
    assert state.files == {get_archive(published).resolve()}


def test_playground_of_a_version_can_be_checked(published: PublishedBench, capfd: pytest.CaptureFixture[str]) -> None:
    with UpProcess(published.user, "--from", "forms@1", "--task", "Say done"):
        assert run(["check", "--answer", '"done"']) == 0
    assert "answered" in capfd.readouterr().out
