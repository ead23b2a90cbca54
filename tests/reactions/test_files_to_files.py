"""A file drop that copies another."""

from typing import Any

from clerkship.model.environment import Environment
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import InProcessTransport
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators.files import SPEC
from clerkship.simulators.files.config import FilesConfig
from clerkship.simulators.files.handle import Files
from clerkship.simulators.files.tree import DatasetFiles


def open_copied_drop(box: dict[str, Any], copy: dict[str, Any]) -> tuple[Playground, Files]:
    """Return a playground of two drops, of which one copies the other, and a handle of the one that is copied."""
    written = {"name": "x", "simulators": {"box": {"kind": "files"}, "copy": {"kind": "files"}}}
    environment = Environment.model_validate(written | {"reactions": ["box.* -> copy"]})
    rooms = {
        "box": PreparedSimulator(SPEC, FilesConfig(), DatasetFiles(box)),
        "copy": PreparedSimulator(SPEC, FilesConfig(), DatasetFiles(copy)),
    }
    playground = Playground(environment, rooms, "x")
    return playground, Files(InProcessTransport(Gateway(), playground, "box", str))


def test_every_change_is_copied() -> None:
    playground, drop = open_copied_drop({}, {})
    drop.make_folder("inbox/new")
    drop.write("inbox/new/a", "1")
    drop.write("inbox/b", "2")
    drop.request("PATCH", "/files/inbox/b", body=b'{"modified": "2020-01-01T00:00:00Z"}')
    drop.rename("inbox/new", "archive/old")
    drop.rename("archive/old/a", "inbox/b", replace=True)
    drop.make_folder("gone")
    drop.remove_folder("gone")
    drop.write("c", "3")
    drop.delete("c")
    one, other = (playground.sandboxes[name].state.dump() for name in ("box", "copy"))
    assert one == other
    assert not any(event.kind == "sandbox.refused" for event in playground.log.events)


def test_change_refused_by_copy_stays_in_source() -> None:
    playground, drop = open_copied_drop({"only/here": b""}, {"only": b"a file"})
    drop.rename("only/here", "inbox/here")
    drop.remove_folder("only")
    drop.make_folder("only")
    refused = [event.payload for event in playground.log.events if event.source == "copy"]
    assert [getattr(payload, "code", "") for payload in refused] == ["exists"]
    assert playground.broken is None
