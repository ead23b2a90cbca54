"""The rules of a file drop."""

from clerkship.conformance.rig import Rig
from clerkship.sandbox.exchange import Request
from clerkship.simulators.files import SPEC
from clerkship.simulators.files.config import FilesConfig


def test_limits_are_refused_in_https_own_words() -> None:
    rig = Rig(SPEC)
    rig.playground.sandboxes["box"].state.config = FilesConfig(max_file=10, quota=15)
    assert rig.send(Request("PUT", "/files/a", body=b"x" * 11)).status == 413
    assert rig.send(Request("PUT", "/files/a", body=b"x" * 10)).status == 201
    assert rig.send(Request("PUT", "/files/b", body=b"x" * 10)).status == 507
    assert rig.send(Request("PUT", "/files/a", body=b"y" * 9)).status == 204
    assert rig.send(Request("DELETE", "/files/a")).status == 204
    assert rig.send(Request("PUT", "/files/b", body=b"x" * 10)).status == 201


def test_a_read_only_drop_refuses_the_agent() -> None:
    rig = Rig(SPEC)
    rig.playground.sandboxes["box"].state.config = FilesConfig(read_only=True)
    assert rig.send(Request("PUT", "/files/a", body=b"x")).status == 403


def test_many_files_cost_as_much_each_as_few() -> None:
    rig = Rig(SPEC)
    for number in range(3000):
        assert rig.send(Request("PUT", f"/files/f{number % 50}/{number}.txt", body=b"x")).status == 201
    assert rig.send(Request("PUT", "/files/f1", body=b"x")).status == 409
