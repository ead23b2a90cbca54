"""Any edits of objects give a folder that loads as exactly the edited objects; all else stays byte for byte."""

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.model.server_objects import DraftKind, DraftObject
from clerkship.service.serving.drafts.requests import merge_patch
from clerkship.service.serving.server import Server
from clerkship.suite_files.load import load_library
from tests.examples import examples
from tests.service.serving.drafts.small_suite import FILES, open_test_server
from tests.service.serving.drafts.test_yaml_editing import find_comments

KINDS: tuple[DraftKind, ...] = ("benchmark", "environment", "simulator", "dataset", "task", "criterion")
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="{$"), min_size=1, max_size=30).filter(str.strip)
TAGS = st.lists(TEXT, max_size=3)
CHANGES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "benchmark": st.fixed_dictionaries(
        {}, optional={"name": TEXT, "description": TEXT, "authors": TAGS, "version": st.integers(1, 9)}
    ),
    "environment": st.fixed_dictionaries({}, optional={"description": TEXT, "tick": st.sampled_from(["2s", "1m"])}),
    "simulator": st.just({"config": {}}),
    "dataset": st.fixed_dictionaries({}, optional={"description": TEXT}),
    "task": st.fixed_dictionaries({}, optional={"tags": TAGS, "timeout": st.none() | st.floats(1, 1000)}),
    "criterion": st.fixed_dictionaries(
        {}, optional={"label": TEXT, "weight": st.integers(0, 9), "gate": st.booleans(), "axis": st.just("correctness")}
    ),
}


def list_objects(server: Server) -> dict[str, DraftObject]:
    """Return all objects by id."""
    return {each.id: each for kind in KINDS for each in server.drafts.list(kind).items}


def get_keys(found: DraftObject) -> dict[str, Any]:
    """Return the keys of an object that files have, without the criteria of a task, which are objects too."""
    left = {"status", "environment_id", "task_id", "criteria", "simulators"}
    return {key: value for key, value in (found.model_extra or {}).items() if key not in left}


def _patch(change: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    return dict(merge_patch(current, change))


@settings(max_examples=examples(100, quick=5), deadline=None)
@given(st.data())
def test_random_edits_of_objects_change_nothing_else(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = open_test_server(Path(folder))
        try:
            server.drafts.push("office", FILES)
            touched = set[str]()
            for _ in range(data.draw(st.integers(1, 3))):
                before = list_objects(server)
                kind = data.draw(st.sampled_from(KINDS))
                chosen = data.draw(st.sampled_from(server.drafts.list(kind).items))
                change = data.draw(CHANGES[kind])
                edited = server.drafts.update(kind, chosen.id, partial(_patch, change))
                assert get_keys(edited) == merge_patch(get_keys(chosen), change)
                after = list_objects(server)
                same = {id for id, each in after.items() if id in before and get_keys(each) == get_keys(before[id])}
                assert {each for each in before if each not in same} <= {chosen.id}
                assert before.keys() == after.keys()
                touched.add(server.drafts._find(kind, chosen.id).place.file)
            files = server.drafts.read_files("office")
            assert {path for path in files if files[path] != FILES[path]} <= touched
            for path in touched:
                comments = [comment for _, comment in find_comments(FILES[path].decode("utf-8-sig"))]
                kept = [comment for _, comment in find_comments(files[path].decode("utf-8-sig"))]
                assert [comment for comment in comments if comment not in kept] == []
            _check_that_the_folder_loads_as(server, Path(folder) / "pulled", files)
        finally:
            server.close()


def _check_that_the_folder_loads_as(server: Server, folder: Path, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    library = load_library(folder, server.catalog, cache=server.settings.cache)
    for task in server.drafts.list("task").items:
        keys = get_keys(task)
        loaded = library.tasks[keys["name"]].task
        assert (list(loaded.tags), loaded.timeout) == (keys.get("tags", []), keys.get("timeout"))
        criteria = (task.model_extra or {}).get("criteria", ())
        labels = [(each["label"], each.get("weight", 1), each.get("gate")) for each in criteria]
        assert [(each.label, each.weight, each.gate) for each in loaded.criteria][: len(labels)] == labels
    (benchmark,) = server.drafts.list("benchmark").items
    assert library.benchmarks["office"].name == get_keys(benchmark)["name"]
