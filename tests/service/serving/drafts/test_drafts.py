"""Benchmarks are written by objects and by files, checked as `clerkship validate` checks them, and published."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.model.errors import InputError
from clerkship.model.server_objects import DraftObject
from clerkship.service.publishing import PublishRequest, publish
from clerkship.service.serving.database import ListRequest
from clerkship.service.serving.drafts.drafts import Drafts
from clerkship.service.serving.drafts.requests import merge_patch
from clerkship.service.serving.drafts.table import ObjectFilter
from clerkship.service.serving.refusals import ObjectNotFound, PreconditionNotMet, RequestConflict
from clerkship.service.serving.server import Server
from clerkship.settings import Settings
from tests.service.serving.drafts.small_suite import FILES, open_test_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = open_test_server(tmp_path / "data")
    yield server
    server.close()


@pytest.fixture
def drafts(server: Server) -> Drafts:
    server.drafts.push("office", FILES)
    return server.drafts


def find(drafts: Drafts, kind: Any, name: str) -> DraftObject:
    """Return the one object of a name."""
    (found,) = drafts.list(kind, ObjectFilter(name=name)).items
    return found


def patch(drafts: Drafts, kind: Any, found: DraftObject, changes: dict[str, Any]) -> DraftObject:
    """Change keys of an object."""
    return drafts.update(kind, found.id, lambda current: merge_patch(current, changes))


def get_view(found: DraftObject) -> dict[str, Any]:
    """Return the keys of an object that its definition has."""
    return dict(found.model_extra or {})


def test_pushed_files_are_pulled_byte_for_byte(drafts: Drafts) -> None:
    assert drafts.read_files("office") == FILES
    changed, is_new = drafts.push("office", FILES)
    assert not is_new
    assert changed.benchmark.updated_at == drafts.get("benchmark", "office").updated_at


def test_objects_of_pushed_files_are_listed_and_filtered(drafts: Drafts) -> None:
    tasks = drafts.list("task").items
    assert [get_view(task)["name"] for task in tasks] == [
        *("Write a letter", "Count them again", "Count the papers", "Ask for a paper"),
    ]
    assert [task.id for task in drafts.list("task", ObjectFilter(tag="count")).items] == [tasks[1].id, tasks[2].id]
    criteria = drafts.list("criterion", ObjectFilter(parent_id=tasks[0].id)).items
    assert [get_view(each)["label"] for each in criteria] == ["Said so", "The letter is there"]
    assert [each["id"] for each in get_view(tasks[0])["criteria"]] == [each.id for each in reversed(criteria)]
    assert {get_view(each)["kind"] for each in drafts.list("simulator").items} == {"files", "chat"}
    first = drafts.list("task", request=ListRequest(limit=3))
    rest = drafts.list("task", request=ListRequest(limit=3, after=first.next))
    assert [each.id for each in (*first.items, *rest.items)] == [each.id for each in tasks]


def test_an_object_can_be_sent_back_as_it_was_returned_and_nothing_changes(drafts: Drafts) -> None:
    for kind in ("benchmark", "environment", "simulator", "dataset", "task", "criterion"):
        for found in drafts.list(kind).items:
            assert drafts.replace(kind, found.id, found.model_dump()) == found
    assert drafts.read_files("office") == FILES


def test_a_changed_object_changes_its_line_alone(drafts: Drafts) -> None:
    patch(drafts, "task", find(drafts, "task", "letter"), {"name": "Write it"})
    patch(drafts, "criterion", find(drafts, "criterion", "said so"), {"weight": 3})
    patch(drafts, "simulator", find(drafts, "simulator", "desk"), {"config": {}})
    patch(drafts, "environment", find(drafts, "environment", "office"), {"description": "A small one."})
    patch(drafts, "dataset", find(drafts, "dataset", "papers"), {"description": "Two."})
    patch(drafts, "benchmark", find(drafts, "benchmark", "office"), {"version": 2})
    after = drafts.read_files("office")
    lines = {path: set(after[path].decode().splitlines()) - set(FILES[path].decode().splitlines()) for path in after}
    assert {path: changed for path, changed in lines.items() if changed} == {
        "benchmark.yml": {"  version: 2"},
        "datasets.yml": {"    description: Two."},
        "office.yml": {"      config: {}", "  description: A small one."},
        "tasks/write.yml": {"  name: Write it   # short", "    weight: 3"},
    }
    for path, data in FILES.items():
        comments = [line[line.index("#") :] for line in data.decode().splitlines() if " #" in line]
        assert [comment for comment in comments if comment not in after[path].decode()] == []


def test_ids_stay_when_names_change_and_when_files_are_pushed_again(drafts: Drafts) -> None:
    task, criterion = find(drafts, "task", "letter"), find(drafts, "criterion", "said so")
    assert patch(drafts, "task", task, {"name": "Write it"}).id == task.id
    assert patch(drafts, "criterion", criterion, {"label": "Told so"}).id == criterion.id
    written = FILES["tasks/write.yml"].replace(b"Write a letter", b"Write it").replace(b"Said so", b"Told so")
    moved = {path.replace("tasks/write.yml", "tasks/letter.yml"): data for path, data in FILES.items()}
    drafts.push("office", {**moved, "tasks/letter.yml": written})
    assert drafts.get("task", task.id).id == task.id
    assert drafts.get("criterion", criterion.id).id == criterion.id


def test_mistakes_are_named_by_field_in_the_words_of_validate(drafts: Drafts) -> None:
    task = find(drafts, "task", "letter")
    with pytest.raises(InputError) as refusal:
        patch(drafts, "task", task, {"tag": ["x"], "criteria": [{"label": "a", "assertion": {"file_presnt": {}}}]})
    assert [(each.file, each.key, each.message, each.hint) for each in refusal.value.problems] == [
        ("", "criteria.0.assertion.file_presnt", "unknown assertion `file_presnt`", "did you mean `file_present`?"),
        ("", "tag", "unknown key `tag`", "did you mean `tags`?"),
    ]
    with pytest.raises(InputError) as refusal:
        patch(drafts, "criterion", find(drafts, "criterion", "said so"), {"weight": -1})
    assert str(refusal.value) == "weight: expected at least 0, not -1"
    assert drafts.read_files("office") == FILES
    assert drafts.get("task", task.id) == task


def test_a_mistake_elsewhere_in_the_draft_names_its_file_and_line(drafts: Drafts) -> None:
    with pytest.raises(InputError) as refusal:
        drafts.delete("dataset", find(drafts, "dataset", "people").id)
    files = {(each.file, each.line, each.key) for each in refusal.value.problems}
    assert ("office.yml", 5, "environment.datasets.1") in files
    assert str(drafts) not in str(refusal.value)
    with pytest.raises(InputError, match=r"the other is at tasks/count\.yml:2:11"):
        patch(drafts, "task", find(drafts, "task", "letter"), {"name": "Count the papers"})


def test_a_push_with_mistakes_changes_nothing(drafts: Drafts) -> None:
    with pytest.raises(InputError, match=r"^tasks/new\.yml:1:7: task: `name` is missing"):
        drafts.push("office", {**FILES, "tasks/new.yml": b"task: {tags: [a]}\n", "README.md": b"other"})
    assert drafts.read_files("office") == FILES
    with pytest.raises(InputError):
        drafts.push("other", {"a.yml": b"task: {}"})
    with pytest.raises(ObjectNotFound):
        drafts.get("benchmark", "other")


def test_a_benchmark_is_written_object_by_object(server: Server) -> None:
    drafts = server.drafts
    simulators = [{"id": "sim_1", "type": "Files", "name": "drop"}]
    environment = drafts.create("environment", {"name": "My Desk", "simulators": simulators, "created_at": "2026"})
    benchmark = drafts.create("benchmark", {"name": "Desk work", "environment_id": environment.id, "description": None})
    assert benchmark.id == environment.benchmark_id
    own = {"benchmark_id": benchmark.id}
    drafts.create("simulator", {"environment_id": environment.id, "type": "HL7", "name": "lab", "config": None})
    assertion = {"assert": "answer-matches", "matches": "yes"}
    criterion = {"label": "Yes", "assertion": {"answer_matches": "yes"}, "axis": None, "input_entity_id": None}
    task = drafts.create("task", {**own, "name": "Ask", "task_item": {"instruction": "Ask."}, "criteria": [criterion]})
    other = drafts.create(
        "criterion", {"task_id": task.id, "label": "Also", "assertion": {"answer_matches": assertion["matches"]}}
    )
    assert get_view(drafts.get("task", task.id))["criteria"][1]["id"] == other.id
    drafts.create("dataset", {**own, "name": "People", "data": [{"resourceType": "Patient", "id": "p1"}]})
    papers = drafts.upload({**own, "name": "Papers", "type": "files"}, {"in/a.txt": b"\x00\xff"})
    drafts.create("dataset", {**own, "name": "Many", "type": "fhir", "generate": {"patients": 2, "seed": 1}})
    files = drafts.read_files("desk-work")
    assert sorted(files) == [
        *(
            "benchmark.yml",
            "datasets/many.yml",
            "datasets/papers.yml",
            "datasets/papers/in/a.txt",
            "datasets/people.ndjson",
        ),
        *("datasets/people.yml", "environment.yml", "tasks/ask.yml"),
    ]
    assert files["environment.yml"].decode() == (
        "environment:\n  name: My Desk\n  simulators:\n    drop:\n      kind: files\n    lab:\n      kind: hl7\n"
    )
    drafts.delete("dataset", papers.id)
    drafts.delete("criterion", other.id)
    drafts.delete("simulator", find(drafts, "simulator", "lab").id)
    assert "datasets/papers/in/a.txt" not in drafts.read_files("desk-work")
    drafts.delete("benchmark", benchmark.id)
    for kind in ("benchmark", "environment", "task", "criterion", "dataset", "simulator"):
        assert drafts.list(kind).items == []


def test_objects_of_unknown_or_missing_parents_are_refused(drafts: Drafts) -> None:
    with pytest.raises(InputError, match="benchmark_id: `benchmark_id` is missing"):
        drafts.create("task", {"name": "a"})
    with pytest.raises(InputError, match="task_id: `task_id` is missing"):
        drafts.create("criterion", {"label": "a"})
    with pytest.raises(InputError, match="environment_id: there is no environment `env_0`"):
        drafts.create("simulator", {"environment_id": "env_0", "name": "a", "kind": "chat"})
    with pytest.raises(RequestConflict, match="a simulator `drop` already"):
        drafts.create(
            "simulator", {"environment_id": find(drafts, "environment", "").id, "name": "drop", "kind": "chat"}
        )
    with pytest.raises(RequestConflict, match="another benchmark with the slug `office`"):
        drafts.create("benchmark", {"name": "Office"})
    with pytest.raises(InputError, match="slug: `Not a slug` is not a slug"):
        drafts.create("benchmark", {"name": "x", "slug": "Not a slug"})


def test_a_change_of_another_version_is_refused(drafts: Drafts) -> None:
    def refuse(current: object) -> None:
        raise PreconditionNotMet("it is another version")

    task = find(drafts, "task", "letter")
    for change in (
        lambda: drafts.replace("task", task.id, task.model_dump(), refuse),
        lambda: drafts.delete("task", task.id, refuse),
        lambda: drafts.push("office", {}, refuse),
    ):
        with pytest.raises(PreconditionNotMet):
            change()
    assert drafts.read_files("office") == FILES


def test_single_files_are_written_and_removed(drafts: Drafts) -> None:
    drafts.put_file("office", "notes/deep/new.txt", b"new", lambda before: None)
    assert drafts.read_file("office", "notes/deep/new.txt") == b"new"
    with pytest.raises(InputError, match=r"office\.yml:5:14"):
        drafts.put_file("office", "datasets.yml", None, lambda before: None)
    with pytest.raises(InputError, match="leaves its folder"):
        drafts.put_file("office", "../x", b"", lambda before: None)
    with pytest.raises(InputError, match="both a file and a folder"):
        drafts.put_file("office", "notes/deep", b"", lambda before: None)
    drafts.put_file("office", "notes/deep/new.txt", None, lambda before: None)
    assert drafts.read_files("office") == FILES


def test_a_published_draft_is_the_version_that_its_pulled_folder_makes(drafts: Drafts, tmp_path: Path) -> None:
    patch(drafts, "task", find(drafts, "task", "letter"), {"tags": ["letters"]})
    version, is_new = drafts.publish("office")
    assert (version.name, is_new) == ("office@1", True)
    for path, data in drafts.read_files("office").items():
        (tmp_path / "pulled" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pulled" / path).write_bytes(data)
    request = PublishRequest(path=tmp_path / "pulled", to=tmp_path / "local")
    (own,) = publish(request, Settings(cache=tmp_path / "cache"), build_catalog_without_plugins())
    assert own.version.digest == version.archive.digest
    assert drafts.publish("office")[1] is False
    patch(drafts, "task", find(drafts, "task", "letter"), {"timeout": 60})
    with pytest.raises(RequestConflict, match="other content"):
        drafts.publish("office")
    assert drafts.publish("office", 2)[0].name == "office@2"


def test_a_copy_that_was_not_finished_is_written_anew(server: Server, drafts: Drafts, tmp_path: Path) -> None:
    copy = tmp_path / "data" / "drafts" / drafts.get("benchmark", "office").id
    (copy / "revision").unlink()
    (copy / "files" / "office.yml").write_text("environment: broken")
    patch(drafts, "task", find(drafts, "task", "letter"), {"timeout": 60})
    assert (copy / "files" / "office.yml").read_bytes() == FILES["office.yml"]
    assert (copy / "revision").read_text() == "2"


def test_drafts_are_there_when_the_server_starts_again(server: Server, drafts: Drafts, tmp_path: Path) -> None:
    before = [get_view(each) for each in drafts.list("task").items]
    server.close()
    again = open_test_server(tmp_path / "data")
    assert [get_view(each) for each in again.drafts.list("task").items] == before
    assert again.drafts.read_files("office") == FILES
    again.close()
