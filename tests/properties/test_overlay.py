"""An overlay behaves like a copied dict, and never changes its base."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from clerkship.playground.component import Overlay
from tests.examples import examples

KEYS = st.sampled_from(["a", "b", "c", "d", "e"])
VALUES = st.none() | st.integers(0, 3)


class OverlayMachine(RuleBasedStateMachine):
    """Makes every change to an overlay and to a copy, and compares them."""

    @initialize(base=st.dictionaries(KEYS, VALUES))
    def fork(self, base: dict[str, Any]) -> None:
        self.base = base
        self.before = dict(base)
        self.copy = dict(base)
        self.overlay = Overlay(base)

    @rule(key=KEYS, value=VALUES)
    def put(self, key: str, value: Any) -> None:
        self.overlay[key] = value
        self.copy[key] = value

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        if key in self.copy:
            del self.overlay[key]
            del self.copy[key]
        else:
            with pytest.raises(KeyError):
                del self.overlay[key]

    @rule(key=KEYS)
    def pop(self, key: str) -> None:
        assert self.overlay.pop(key, "nothing") == self.copy.pop(key, "nothing")

    @rule(key=KEYS, value=VALUES)
    def set_default(self, key: str, value: Any) -> None:
        assert self.overlay.setdefault(key, value) == self.copy.setdefault(key, value)

    @rule(key=KEYS)
    def get(self, key: str) -> None:
        assert self.overlay.get(key, "nothing") == self.copy.get(key, "nothing")
        assert (key in self.overlay) == (key in self.copy)

    @invariant()
    def they_are_the_same(self) -> None:
        assert dict(self.overlay) == self.copy
        assert len(self.overlay) == len(self.copy) == len(list(self.overlay))

    @invariant()
    def the_base_is_as_it_was(self) -> None:
        assert self.base == self.before

    @invariant()
    def what_changed_is_what_differs(self) -> None:
        keys = self.base.keys() | self.copy.keys()
        differ = {key for key in keys if self.base.get(key) != self.copy.get(key)}
        assert self.overlay.changed() == {key: (self.base.get(key), self.copy.get(key)) for key in differ}


OverlayMachine.TestCase.settings = settings(max_examples=examples(30), stateful_step_count=25, deadline=None)
TestOverlay = OverlayMachine.TestCase
