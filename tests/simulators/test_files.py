"""The rules of a file drop."""

from datetime import timedelta
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import InProcessTransport
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.handle import Refused
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.files import SPEC
from clerkship.simulators.files.config import FilesConfig, apply_environment_time
from clerkship.simulators.files.handle import Files
from clerkship.simulators.files.operations import NewFile, write_file
from clerkship.simulators.files.sftp.call import SftpCall
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.files.tree import DatasetFiles
from tests.waiting import processor_limit

MANY = 100_000


def rig_of(files: dict[str, bytes] | None = None, **config: Any) -> SimulatorRig:
    """A drop over some files, told something."""
    rig = SimulatorRig(SPEC)
    base = SPEC.prepare([Dataset(name="base", type="files", files=files or {})])
    rig.prepared_simulators = {"box": PreparedSimulator(SPEC, FilesConfig(**config), base)}
    rig.playground.sandboxes.update(Playground(rig.playground.environment, rig.prepared_simulators, "x").sandboxes)
    return rig


def handle(playground: Playground) -> Files:
    """As an agent holds it that asks for no address."""
    return Files(InProcessTransport(Gateway(), playground, "box", str))


def rename(rig: SimulatorRig, path: str, to: str, **more: Any) -> Reply:
    """Give something another path."""
    return rig.send(Request("POST", "/rename", body=orjson.dumps({"from": path, "to": to, **more})))


def modified(rig: SimulatorRig, path: str) -> str:
    """When something was last changed."""
    found: str = orjson.loads(rig.send(Request("GET", f"/stat/{path}")).body)["modified"]
    return found


def code(reply: Reply) -> tuple[int, str]:
    """How something was refused."""
    return reply.status, orjson.loads(reply.body)["error"]["code"]


def test_limits_are_refused_with_http_status_codes() -> None:
    rig = rig_of(max_file=10, quota=15)
    assert rig.send(Request("PUT", "/files/a", body=b"x" * 11)).status == 413
    assert rig.send(Request("PUT", "/files/a", body=b"x" * 10)).status == 201
    assert rig.send(Request("PUT", "/files/b", body=b"x" * 10)).status == 507
    assert rig.send(Request("PUT", "/files/a", body=b"y" * 9)).status == 204
    assert rig.send(Request("DELETE", "/files/a")).status == 204
    assert rig.send(Request("PUT", "/files/b", body=b"x" * 10)).status == 201


def test_replaced_content_does_not_count_towards_the_quota() -> None:
    rig = rig_of(quota=15)
    rig.send(Request("PUT", "/files/a", body=b"x" * 8))
    rig.send(Request("PUT", "/files/b", body=b"x" * 7))
    assert rename(rig, "a", "b", replace=True).status == 204
    assert rig.send(Request("PUT", "/files/a", body=b"x" * 8)).status == 507
    assert rig.send(Request("PUT", "/files/a", body=b"x" * 7)).status == 201


def test_config_beyond_the_maximum_is_rejected() -> None:
    FilesConfig(max_file=1_000_000_000, quota=10_000_000_000)
    for wrong in ({"max_file": 1_000_000_001}, {"quota": 10_000_000_001}, {"folders": ["a/../b"]}, {"folders": [""]}):
        with pytest.raises(ValidationError):
            FilesConfig.model_validate(wrong)


@pytest.mark.parametrize(
    "request_",
    [
        Request("PUT", "/files/a", body=b"x"),
        Request("PUT", "/files/there", body=b"x"),
        Request("DELETE", "/files/there"),
        Request("PATCH", "/files/there", body=b'{"modified": "2026-01-01T00:00:00Z"}'),
        Request("PUT", "/folders/new"),
        Request("DELETE", "/folders/inbox"),
        Request("POST", "/rename", body=b'{"from": "there", "to": "here"}'),
    ],
)
def test_read_only_drop_refuses_writes_of_the_agent(request_: Request) -> None:
    rig = rig_of({"there": b"x"}, read_only=True)
    before = rig.dump()
    assert code(rig.send(request_)) == (403, "read_only")
    assert rig.dump() == before
    assert rig.send(Request("GET", "/files/there")).body == b"x"


NAMES = [
    "a b.txt",
    "été.csv",
    "日本.txt",
    "e\u0301t\u00e9",
    "R\u202fM.png",
    "..a",
    "...",
    "-rf",
    "a\\b",
    "a:b",
    "~",
    "x" * 255,
]


@pytest.mark.parametrize("name", NAMES)
def test_file_system_names_are_accepted(name: str) -> None:
    rig = rig_of()
    with rig:
        assert rig.send_http(Request("PUT", f"/files/inbox/{name}", body=name.encode())).status == 201
        assert rig.send_http(Request("GET", f"/files/inbox/{name}")).body == name.encode()
        [entry] = orjson.loads(rig.send_http(Request("GET", "/folders/inbox")).body)["entries"]
        assert entry["name"] == name


def test_names_that_look_alike_are_different_files() -> None:
    rig = rig_of()
    for name in ("été", "e\u0301te\u0301", "Été"):
        assert rig.send(Request("PUT", f"/files/{name}", body=b"")).status == 201


BAD = [
    "a\0b",
    "a\x7fb",
    "a\u0085b",
    "a\u2028b",
    "x" * 256,
    "é" * 128,
    "/".join("x" * 200 for _ in range(6)),
    "a/./b",
    "a//b",
]


@pytest.mark.parametrize("path", BAD)
def test_invalid_names_are_refused(path: str) -> None:
    rig = rig_of()
    for asked in (
        Request("PUT", f"/files/{path}", body=b"x"),
        Request("PUT", f"/folders/{path}"),
        Request("GET", f"/stat/{path}"),
        Request("POST", "/rename", body=orjson.dumps({"from": path, "to": "a"})),
        Request("GET", "/files", {"prefix": path}),
        Request("GET", "/folders", {"after": path}),
    ):
        assert code(rig.send(asked)) == (400, "bad_path"), asked


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"from": "a"}', b'{"from": "a", "to": 5}', b'{"from": "a", "to": "b", "replace": "yes"}', b"\xff"],
)
def test_invalid_rename_is_refused_with_the_expected_form(body: bytes) -> None:
    reply = rig_of({"a": b""}).send(Request("POST", "/rename", body=body))
    assert code(reply) == (400, "bad_body")
    assert b'expected {\\"from\\": \\"inbox/a.csv\\"' in reply.body


@pytest.mark.parametrize("value", ["yesterday", "2026-03-02T09:00:00", "0001-01-01T00:00:00+14:00", "", None, True])
def test_invalid_modification_time_is_refused(value: Any) -> None:
    rig = rig_of({"a": b""})
    assert code(rig.send(Request("PATCH", "/files/a", body=orjson.dumps({"modified": value})))) == (400, "bad_body")


@pytest.mark.parametrize("count", ["0", "-1", "x", "1.5", "²", "9" * 400, "1000001", ""])
def test_invalid_count_is_refused(count: str) -> None:
    for path in ("/files", "/folders"):
        assert code(rig_of().send(Request("GET", path, {"count": count}))) == (400, "bad_count")


def test_modification_time_defaults_to_the_simulated_time() -> None:
    environment = Environment(name="x", simulators={"box": Simulator(kind="files")})
    rig = rig_of({"in/old": b"", "x": b""}, modified="2026-01-05T10:00:00+01:00")
    assert modified(rig, "in/old") == modified(rig, "in") == "2026-01-05T10:00:00+01:00"
    assert apply_environment_time(FilesConfig(), environment).modified == environment.now
    rig.playground.advance(timedelta(hours=1))
    rig.send(Request("PUT", "/files/in/new", body=b"x"))
    written = modified(rig, "in/new")
    assert modified(rig, "in") == written
    rig.playground.advance(timedelta(hours=1))
    rig.send(Request("PUT", "/files/in/new", body=b"again"))
    assert modified(rig, "in/new") > written
    assert modified(rig, "in") == written  # nothing came or went
    rig.send(Request("PATCH", "/files/in/new", body=b'{"modified": "2020-01-01T00:00:00+01:00"}'))
    rename(rig, "in/new", "archive/new")
    assert modified(rig, "archive/new") == "2019-12-31T23:00:00+00:00"
    assert modified(rig, "in") == modified(rig, "archive") > written


def test_renamed_folder_keeps_times_and_states_of_its_files() -> None:
    rig = rig_of({"in/deep/er/old": b"old"}, quota=10)
    half = NewFile(path="in/half", data=b"12345", complete=False)
    rig.call(SftpCall(write_file, half, "in/half", b"12345"))
    rig.send(Request("PATCH", "/files/in/deep/er/old", body=b'{"modified": "2020-01-01T00:00:00Z"}'))
    assert rename(rig, "in", "archive/in").status == 204
    state = rig.playground.sandboxes["box"].state
    assert isinstance(state, FilesState)
    assert list(state.volume.paths()) == ["archive/in/deep/er/old", "archive/in/half"]
    assert (state.volume.incomplete, state.volume.used) == ({"archive/in/half"}, 5)
    assert modified(rig, "archive/in/deep/er/old") == "2020-01-01T00:00:00+00:00"
    assert code(rig.send(Request("GET", "/folders/in"))) == (404, "no_such_folder")
    assert rig.send(Request("PUT", "/files/in", body=b"a file now")).status == 507
    assert rig.send(Request("PUT", "/files/in", body=b"file")).status == 201


def test_path_below_a_file_is_not_found() -> None:
    rig = rig_of({"inbox": b"a file"})
    assert rig.send(Request("GET", "/files/inbox")).body == b"a file"
    assert code(rig.send(Request("GET", "/folders/inbox"))) == (409, "not_a_folder")
    assert [e["name"] for e in orjson.loads(rig.send(Request("GET", "/folders")).body)["entries"]] == [
        "archive",
        "inbox",
        "outbound",
    ]


def test_handle_has_a_method_for_each_operation() -> None:
    rig = rig_of({"inbox/a.csv": b"1"})
    drop = handle(Playground(rig.playground.environment, rig.prepared_simulators, "x"))
    assert drop.list("inbox") == ["inbox/a.csv"]
    drop.make_folder("archive/2026")
    drop.rename("inbox/a.csv", "archive/2026/a.csv")
    assert [entry["name"] for entry in drop.entries("archive/2026")] == ["a.csv"]
    assert [entry["name"] for entry in drop.entries()] == ["archive", "inbox", "outbound"]
    assert drop.stat("archive/2026/a.csv")["size"] == 1
    assert drop.read_text("archive/2026/a.csv") == "1"
    drop.delete("archive/2026/a.csv")
    drop.remove_folder("archive/2026")
    with pytest.raises(Refused, match="404"):
        drop.stat("archive/2026")


def test_cost_per_file_does_not_grow_with_the_number_of_files() -> None:
    rig = rig_of()
    for number in range(3000):
        assert rig.send(Request("PUT", f"/files/f{number % 50}/{number}.txt", body=b"x")).status == 201
    assert rig.send(Request("PUT", "/files/f1", body=b"x")).status == 409


def test_requests_in_a_folder_with_a_hundred_thousand_files_stay_cheap() -> None:
    rig = rig_of({f"inbox/{number:06}.txt": b"x" for number in range(MANY)})
    rig.send(Request("GET", "/stat/inbox"))  # where everything is, is found out once
    # 800 requests: sorting everything in each of them would take longer.
    with processor_limit(10):
        _use_large_folder(rig)
    with processor_limit(), rig:
        reply = rig.send_http(Request("GET", "/folders/inbox"))
    assert len(orjson.loads(reply.body)["entries"]) == MANY - 200


def _use_large_folder(rig: SimulatorRig) -> None:
    for number in range(200):
        assert rig.send(Request("PUT", f"/files/inbox/new-{number}", body=b"y")).status == 201
        reply = rig.send(Request("GET", "/folders/inbox", {"after": f"{number:06}.txt", "count": "10"}))
        assert len(orjson.loads(reply.body)["entries"]) == 10
        assert rename(rig, f"inbox/{number + 500:06}.txt", f"archive/{number}").status == 204
        assert rig.send(Request("DELETE", f"/files/inbox/{number + 1000:06}.txt")).status == 204


def test_forks_share_the_folder_index() -> None:
    rig = rig_of({"inbox/a": b"x"})
    room = rig.prepared_simulators["box"]
    assert isinstance(room.base, DatasetFiles)
    forks = [Playground(rig.playground.environment, rig.prepared_simulators, "x") for _ in range(2)]
    one, other = (fork.sandboxes["box"].state for fork in forks)
    assert isinstance(one, FilesState)
    assert isinstance(other, FilesState)
    assert one.volume.tree.names("inbox") is other.volume.tree.names("inbox") is room.base.folders["inbox"]


@pytest.mark.parametrize("path", ["/folders", "/stat"])
def test_routes_of_the_root_folder_take_no_path(path: str) -> None:
    outer, inner = [next(route for route in SPEC.routes if route.path == at) for at in (path, f"{path}/{{path*}}")]
    assert outer.operation.name.endswith("_outermost")
    assert "path" not in outer.operation.fields
    assert outer.operation.fields | {"path"} == inner.operation.fields
    assert "outermost folder" in outer.operation.description
