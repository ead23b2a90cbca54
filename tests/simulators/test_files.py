"""The rules of a file drop, and that they hold whatever is done to it."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from clerkship.conformance.rig import Rig
from clerkship.playground.playground import replay
from clerkship.sandbox.exchange import Request
from clerkship.simulators.files import SPEC
from clerkship.simulators.files.config import FilesConfig

PATHS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map("/".join)


class FileDrop(RuleBasedStateMachine):
    """Against the simplest model there is: a map, in which no path may be both a file and a folder."""

    def __init__(self) -> None:
        super().__init__()
        self.rig = Rig(SPEC)
        self.model: dict[str, bytes] = {}

    @rule(path=PATHS, data=st.binary(max_size=20))
    def write(self, path: str, data: bytes) -> None:
        """A write is there, or is refused because of what is there."""
        reply = self.rig.send(Request("PUT", f"/files/{path}", body=data))
        folder = any(other.startswith(f"{path}/") for other in self.model)
        under_file = any(path.startswith(f"{other}/") for other in self.model)
        if folder or under_file:
            assert reply.status == 409
        else:
            assert reply.status == (204 if path in self.model else 201)
            self.model[path] = data

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        """A file that is there can be removed, once."""
        reply = self.rig.send(Request("DELETE", f"/files/{path}"))
        assert reply.status == (204 if self.model.pop(path, None) is not None else 404)

    @rule(path=PATHS)
    def read(self, path: str) -> None:
        """What is read is what was written."""
        reply = self.rig.send(Request("GET", f"/files/{path}"))
        assert (reply.status, reply.body) == (200, self.model[path]) if path in self.model else reply.status == 404

    @invariant()
    def the_log_rebuilds_it(self) -> None:
        """At any time."""
        rebuilt = replay(self.rig.rooms, self.rig.playground.log.events)[self.rig.name]
        assert rebuilt.dump() == self.rig.dump()


FileDrop.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestFileDrop = FileDrop.TestCase


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
