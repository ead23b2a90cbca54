"""A file drop against a simple model: a map of files and a set of folders."""

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.events.event import Payload
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.playground import Playground, replay
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.files import SPEC
from clerkship.simulators.files.config import FilesConfig
from clerkship.simulators.files.events import (
    FileDeleted,
    FileRenamed,
    FileStamped,
    FileWritten,
    FolderMade,
    FolderRemoved,
    FolderRenamed,
)
from clerkship.simulators.files.state import FilesState
from tests.examples import examples

NAMES = st.sampled_from(["a", "a-b", "a b", "ä", "a\u0308", "A", "0"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
FOLDERS = st.one_of(st.just(""), PATHS)
DATA = st.binary(max_size=20)
BASE = {"a/a": b"from the dataset", "0": b"this too", "ä/A/0": b""}
QUOTA = 60
GARBAGE = st.one_of(
    st.text(max_size=20),
    st.sampled_from([".", "..", "a/../b", "/a", "a//b", "a/.", "a\0b", "a\nb", "é" * 128, "a" * 256]),
)


def parents_of(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:number]) for number in range(1, len(parts))]


def is_invalid(path: str) -> bool:
    parts = path.split("/")
    return any(part in ("", ".", "..") or len(part.encode("utf-8", "surrogatepass")) > 255 for part in parts) or any(
        ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u2028\u2029" for char in path
    )


class FileDrop(RuleBasedStateMachine):
    """A file drop over a dataset, with a small quota."""

    def __init__(self) -> None:
        super().__init__()
        self.rig = SimulatorRig(SPEC)
        base = SPEC.prepare([Dataset(name="base", type="files", files=BASE)])
        config = FilesConfig(quota=QUOTA, max_file=18, folders=("a/A", "0/not", "b"))  # `0` is a file already
        self.rig.prepared_simulators = {"box": PreparedSimulator(SPEC, config, base)}
        self.rig.playground.sandboxes.update(
            Playground(self.rig.playground.environment, self.rig.prepared_simulators, "x").sandboxes
        )
        self.files = dict(BASE)
        self.folders = {"a", "a/A", "b", "ä", "ä/A"}
        self.written: dict[str, int] = {}

    def send(self, method: str, path: str, body: Any = b"", **query: str) -> Reply:
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        return self.rig.send(Request(method, path, query, body=data))

    def is_there(self, path: str) -> bool:
        return path in self.files or path in self.folders

    def has_folder(self, path: str) -> int:
        outer = path.rpartition("/")[0]
        return 0 if not outer or outer in self.folders else 409 if outer in self.files else 404

    def inside(self, folder: str) -> list[str]:
        start = f"{folder}/" if folder else ""
        return [path for path in (*self.files, *self.folders) if path.startswith(start)]

    @rule(path=PATHS, data=DATA)
    def write(self, path: str, data: bytes) -> None:
        status = self.send("PUT", f"/files/{path}", data).status
        used = sum(self.written.values()) - self.written.get(path, 0)
        if len(data) > 18:
            assert status == 413
        elif used + len(data) > QUOTA:
            assert status == 507
        elif path in self.folders or any(folder in self.files for folder in parents_of(path)):
            assert status == 409
        else:
            assert status == (204 if path in self.files else 201)
            self.files[path], self.written[path] = data, len(data)
            self.folders |= {*parents_of(path)}

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        status = self.send("DELETE", f"/files/{path}").status
        assert status == (204 if path in self.files else 409 if path in self.folders else 404)
        self.files.pop(path, None)
        self.written.pop(path, None)

    @rule(path=PATHS)
    def read(self, path: str) -> None:
        reply = self.send("GET", f"/files/{path}")
        if path in self.files:
            assert (reply.status, reply.body) == (200, self.files[path])
        else:
            assert reply.status == (409 if path in self.folders else 404)

    @rule(path=PATHS)
    def make_folder(self, path: str) -> None:
        status = self.send("PUT", f"/folders/{path}").status
        expected = 409 if self.is_there(path) else self.has_folder(path)
        assert status == (expected or 201)
        self.folders |= {path} if not expected else set()

    @rule(path=PATHS)
    def remove_folder(self, path: str) -> None:
        status = self.send("DELETE", f"/folders/{path}").status
        if path not in self.folders:
            assert status == (409 if path in self.files else 404)
        elif self.inside(path):
            assert status == 409
        else:
            assert status == 204
            self.folders.remove(path)

    @rule(path=PATHS, to=PATHS, replace=st.booleans())
    def rename(self, path: str, to: str, replace: bool) -> None:
        status = self.send("POST", "/rename", {"from": path, "to": to, "replace": replace}).status
        expected = self._refused(path, to, replace=replace)
        assert status == (expected or 204)
        if not expected and path != to:
            moved = [path, *self.inside(path)]
            for old in moved:
                self._moved(old, to + old[len(path) :])

    def _refused(self, path: str, to: str, *, replace: bool) -> int:
        if not self.is_there(path):
            return 404
        if self.has_folder(to):
            return self.has_folder(to)
        if self.is_there(to) and not replace:
            return 409
        if path in self.files:
            return 409 if to in self.folders else 0
        if to.startswith(f"{path}/"):
            return 400
        return 409 if to in self.files or (to != path and self.inside(to)) else 0

    def _moved(self, old: str, new: str) -> None:
        if old in self.folders:
            self.folders.remove(old)
            self.folders.add(new)
            return
        self.files[new] = self.files.pop(old)
        self.written.pop(new, None)
        if old in self.written:
            self.written[new] = self.written.pop(old)

    @rule(path=PATHS)
    def stamp(self, path: str) -> None:
        status = self.send("PATCH", f"/files/{path}", {"modified": "2020-02-03T04:05:06Z"}).status
        assert status == (204 if self.is_there(path) else 404)
        if self.is_there(path):
            assert orjson.loads(self.send("GET", f"/stat/{path}").body)["modified"] == "2020-02-03T04:05:06+00:00"

    @rule(folder=FOLDERS, after=PATHS, count=st.integers(1, 4))
    def page(self, folder: str, after: str, count: int) -> None:
        start = f"{folder}/" if folder else ""
        below = sorted(path for path in self.files if path.startswith(start))
        reply = orjson.loads(self.send("GET", "/files", prefix=folder, after=start + after, count=str(count)).body)
        assert [file["path"] for file in reply["files"]] == [path for path in below if path > start + after][:count]

    @rule(folder=FOLDERS, count=st.integers(1, 3))
    def look_into(self, folder: str, count: int) -> None:
        if folder and folder not in self.folders:
            assert self.send("GET", f"/folders/{folder}").status == (409 if folder in self.files else 404)
            return
        seen: list[str] = []
        after = ""
        while True:
            reply = orjson.loads(self.send("GET", f"/folders/{folder}".rstrip("/"), after=after, count=str(count)).body)
            seen += [entry["name"] + "/" * entry["folder"] for entry in reply["entries"]]
            after = reply.get("next", "")
            if not after:
                break
        start = f"{folder}/" if folder else ""
        direct = [path.removeprefix(start) + "/" * (path in self.folders) for path in self.inside(folder)]
        assert seen == sorted(name for name in direct if "/" not in name[:-1])

    @rule(path=GARBAGE, method=st.sampled_from(["PUT", "GET", "DELETE"]))
    def garbage(self, path: str, method: str) -> None:
        if path and is_invalid(path):
            assert self.send(method, f"/files/{path}", b"x").status in (400, 404)
            assert self.send("POST", "/rename", {"from": "a/a", "to": path}).status == 400

    @invariant()
    def it_is_what_the_model_is(self) -> None:
        state = self.rig.playground.sandboxes["box"].state
        assert isinstance(state, FilesState)
        assert list(state.volume.paths()) == sorted(self.files)
        assert dict(state.records) == self.files
        assert list(state.volume.tree) == sorted(self.folders)
        assert state.volume.used == sum(self.written.values())
        walked = sorted([*self.files, *(f"{folder}/" for folder in self.folders)])
        assert list(state.dump()) == walked

    @invariant()
    def the_log_rebuilds_it(self) -> None:
        rebuilt = replay(self.rig.prepared_simulators, self.rig.playground.log.events)[self.rig.name]
        assert rebuilt.dump() == self.rig.dump()


FileDrop.TestCase.settings = settings(max_examples=examples(30), stateful_step_count=30, deadline=None)
TestFileDrop = FileDrop.TestCase


EVENTS = st.one_of(
    st.builds(FileWritten, path=PATHS, size=st.just(0), data=DATA, complete=st.booleans(), modified=st.none()),
    st.builds(FileDeleted, path=PATHS),
    st.builds(FileRenamed, path=PATHS, to=PATHS),
    st.builds(FileStamped, path=PATHS, modified=st.just("2020-01-01T00:00:00+00:00")),
    st.builds(FolderMade, path=PATHS),
    st.builds(FolderRemoved, path=PATHS),
    st.builds(FolderRenamed, path=PATHS, to=PATHS),
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(EVENTS, max_size=25))
def test_impossible_events_are_applied_without_error(payloads: list[Payload]) -> None:
    """A failed step is retried without the agent's changes, so files may be renamed that never existed."""
    room = PreparedSimulator(SPEC, FilesConfig(), SPEC.prepare([Dataset(name="base", type="files", files=BASE)]))
    playground = Playground(Environment(name="x", simulators={"box": Simulator(kind="files")}), {"box": room}, "x")
    for payload in payloads:
        playground.emit("box", payload, "scenario")
        playground.sandboxes["box"].state.dump()
    rebuilt = replay({"box": room}, playground.log.events)["box"]
    assert rebuilt.dump() == playground.sandboxes["box"].state.dump()
