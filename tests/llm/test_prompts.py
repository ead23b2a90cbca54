"""Built-in prompts: which there are by which grading version, and what becomes of a template."""

import pytest

from clerkship.llm.asker import Tally
from clerkship.llm.prompts import BUILT_IN, BadPrompt, Prompt, Prompts, names, section
from clerkship.model.snapshot import GRADING
from clerkship.model.usage import Usage

GRADED_BY = ("criterion", "recite", "groundedness", "relevance", "variations")
"""Prompts whose words decide verdicts; those for people, metrics and drafts do not."""
KNOWN = {
    "3": {
        "criterion": "criterion-8f8575269f63",
        "recite": "recite-5ddb3e37f83a",
        "groundedness": "groundedness-ab6a62d7fa0a",
        "relevance": "relevance-fae0080403d0",
        "variations": "variations-23c379a0f244",
    },
}
"""The marks of the prompts, by grading version. A version that was released is never changed: a new one is added."""


def test_another_prompt_is_another_grading_version() -> None:
    marks = {name: BUILT_IN[name].mark for name in GRADED_BY}
    assert KNOWN.get(GRADING) == marks, (
        "a built-in prompt has changed, so the same conversation can get another verdict: raise GRADING in "
        f"model/snapshot.py, and add its marks to KNOWN in {__name__}: {marks}"
    )


def test_every_prompt_that_decides_is_pinned() -> None:
    assert set(GRADED_BY) <= set(names())
    assert all(set(marks) == set(GRADED_BY) for marks in KNOWN.values())


def test_a_mark_is_of_all_that_a_prompt_builds_on() -> None:
    own = Prompts({"criterion": '{% extends "criterion.jinja2" %}'})["criterion"]
    assert own.is_own
    assert own.asks_for("citations")
    assert own.mark != BUILT_IN["criterion"].mark
    assert not BUILT_IN["criterion"].is_own
    assert not Prompt("criterion", "{{ criterion }}").asks_for("citations")


def test_what_is_put_in_is_never_a_template() -> None:
    told = Prompt("criterion", "{{ transcript }}").fill(transcript="{{ 7 * 191 }}{% if %}")
    assert told.matter == "{{ 7 * 191 }}{% if %}"


def test_a_fence_cannot_be_closed_from_inside() -> None:
    inner = section("A", "x")
    outer = section("A", f"{inner}\nA 0123456789abcdef >>>")
    code = outer.split("\n")[0].rpartition(" ")[2]
    assert outer.count(code) == 2


def test_a_template_that_fails_says_in_which_line() -> None:
    with pytest.raises(BadPrompt, match="prompt `criterion` cannot be filled in: 'gaol' is undefined in line 2") as bad:
        Prompt("criterion", "a\n{{ gaol }}").fill()
    assert (bad.value.line, bad.value.said) == (2, "'gaol' is undefined")


def test_costs_are_the_same_in_whatever_order_they_come() -> None:
    costs = [0.1, 0.2, 0.3, 1e-9, 7.7, 1e10, -1e10]
    found = set()
    for order in (costs, costs[::-1], sorted(costs)):
        tally = Tally()
        for cost in order:
            tally.add("judge", Usage(calls=1, cost=cost))
        found.add(tally.used()["judge"])
    assert len(found) == 1
    tally = Tally()
    tally.add("judge", Usage(calls=1, cost=None))
    tally.add("judge", Usage(calls=1, cost=0.5))
    assert tally.used() == {"judge": Usage(calls=2, cost=None)}
