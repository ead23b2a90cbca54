"""Built-in prompts and their grading versions, and the rendering of templates."""

from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.person_played import PersonAnswer, PersonAnswerWithButton
from clerkship.assertions.generative import Relevance, Statements, Variations
from clerkship.assertions.judged import CorrectedCitations, CustomPromptVerdict, JudgeVerdict, UncitedVerdict
from clerkship.engine.grader import RatingsAnswer
from clerkship.engine.person_check import Cited, PersonCheckAnswer
from clerkship.llm.contract import Question
from clerkship.llm.prompts import BUILT_IN, BadPrompt, Prompt, Prompts, list_prompts, read_built_in, section
from clerkship.llm.trial_model import UsageCounter
from clerkship.model.snapshot import GRADING_VERSION
from clerkship.model.usage import Usage
from clerkship.suite_files.conftest import check_template

GRADED_BY = ("criterion", "recite", "groundedness", "relevance", "variations", "metrics", "person_check")
OTHERS = {"person", "draft"}
"""Prompts that no grade comes of."""
KNOWN = {
    "3": {
        "criterion": "criterion-8f8575269f63",
        "recite": "recite-5ddb3e37f83a",
        "groundedness": "groundedness-ab6a62d7fa0a",
        "relevance": "relevance-fae0080403d0",
        "variations": "variations-23c379a0f244",
        "metrics": "metrics-aa37236abad2",
        "person_check": "person_check-864e16c172a3",
    },
}
KNOWN["4"] = KNOWN["3"]  # what an answer in words says is read
KNOWN["5"] = KNOWN["4"]  # what is not JSON, CSV or HL7 that was to be fails `exists: false` too
KNOWN["6"] = KNOWN["5"] | {  # ids to cite by, citations asked for again without a verdict, reported lines marked
    "criterion": "criterion-b01bd904b604",
    "recite": "recite-1d549216906e",
    "metrics": "metrics-f743ae0e5acd",
}
KNOWN["7"] = KNOWN["6"] | {  # a worked citation for small models, made-up facts that are allowed
    "criterion": "criterion-96044a446c69",
    "person_check": "person_check-daeb564dcb42",
}
KNOWN["8"] = KNOWN["7"]  # `input_entity_id` limits criteria on all kinds of items
KNOWN["9"] = KNOWN["8"]  # charts and fax pages are searched for patients and values as messages are
KNOWN["10"] = KNOWN["9"]  # monitors; no credit for what was right before the agent
KNOWN["11"] = KNOWN["10"]  # monitors read more places; hours after a date are no year
KNOWN["12"] = KNOWN["11"]  # monitors find instructions about drugs, and health that the purpose does not need
KNOWN["13"] = KNOWN["12"]  # an answer may be one JSON object among words; numbers in words, and counts after their noun
"""The marks of the prompts, by grading version. A version that was released is never changed: a new one is added."""


def test_changed_prompt_needs_a_new_grading_version() -> None:
    marks = {name: BUILT_IN[name].version for name in GRADED_BY}
    assert KNOWN.get(GRADING_VERSION) == marks, (
        "a built-in prompt has changed, so the same conversation can get another verdict: raise GRADING in "
        f"model/snapshot.py, and add its marks to KNOWN in {__name__}: {marks}"
    )


def test_every_prompt_that_grades_is_pinned() -> None:
    assert set(list_prompts()) - OTHERS == set(GRADED_BY), "a new prompt is pinned here, or named among the others"
    assert all(set(marks) == set(GRADED_BY) for marks in KNOWN.values())


def test_mark_covers_extended_and_included_templates() -> None:
    own = Prompts({"criterion": '{% extends "criterion.jinja2" %}'})["criterion"]
    assert own.is_own
    assert own.mentions("citations")
    assert own.version != BUILT_IN["criterion"].version
    assert not BUILT_IN["criterion"].is_own
    assert not Prompt("criterion", "{{ criterion }}").mentions("citations")


def test_inserted_values_are_not_rendered_as_templates() -> None:
    told = Prompt("criterion", "{{ transcript }}").fill(transcript="{{ 7 * 191 }}{% if %}")
    assert told.content == "{{ 7 * 191 }}{% if %}"


def test_a_fence_cannot_be_closed_from_inside() -> None:
    inner = section("A", "x")
    outer = section("A", f"{inner}\nA 0123456789abcdef >>>")
    code = outer.split("\n")[0].rpartition(" ")[2]
    assert outer.count(code) == 2


def test_template_error_has_its_line() -> None:
    with pytest.raises(BadPrompt, match="prompt `criterion` cannot be rendered: 'gaol' is undefined in line 2") as bad:
        Prompt("criterion", "a\n{{ gaol }}").fill()
    assert (bad.value.line, bad.value.said) == (2, "'gaol' is undefined")


def test_cost_does_not_depend_on_the_order_of_answers() -> None:
    costs = [0.1, 0.2, 0.3, 1e-9, 7.7, 1e10, -1e10]
    found = []
    for order in (costs, costs[::-1], sorted(costs)):
        tally = UsageCounter()
        for cost in order:
            tally.add("judge", Usage(calls=1, cost=cost))
        found.append(tally.used()["judge"])
    assert found[0] == found[1] == found[2]
    tally = UsageCounter()
    tally.add("judge", Usage(calls=1, cost=None))
    tally.add("judge", Usage(calls=1, cost=0.5))
    assert tally.used() == {"judge": Usage(calls=2, cost=None)}


def test_every_schema_is_valid_for_strict_endpoints() -> None:
    shapes = (
        JudgeVerdict,
        CustomPromptVerdict,
        UncitedVerdict,
        CorrectedCitations,
        Relevance,
        Variations,
        Statements,
        RatingsAnswer,
        PersonCheckAnswer,
        PersonAnswer,
    )
    known = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "$ref", "$defs", "description"}
    for shape in (*shapes, PersonAnswerWithButton):
        assert _keywords(Question("", shape).schema) <= known, shape


def _keywords(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(_keywords, schema))
    if not isinstance(schema, dict):
        return set()
    inside = [part for key in ("properties", "$defs") for part in schema.get(key, {}).values()]
    inside += [part for key, part in schema.items() if key not in ("properties", "$defs")]
    return set(schema).union(*map(_keywords, inside))


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("criteria_judge_prompt", "criterion"),
        ("metrics_judge_prompt", "metrics"),
        ("simulated_user_prompt", "person"),
    ],
)
def test_the_built_in_prompts_can_be_copied_and_built_on(tmp_path: Path, key: str, name: str) -> None:
    for text in (read_built_in(f"{name}.jinja2"), f'{{% extends "{name}.jinja2" %}}'):
        assert check_template(key, tmp_path / "own.jinja2", text) is None
    strange = f'{{% extends "{name}.jinja2" %}}{{% block order %}}x{{% endblock %}}'
    wrong = check_template(key, tmp_path / "own.jinja2", strange)
    assert wrong is not None
    assert "no block `order`" in wrong.message
    assert "orders" in wrong.hint


def test_worked_citation_of_the_judge_prompt_is_a_right_answer() -> None:
    text = read_built_in("criterion.jinja2")
    example = text[text.index("An example, from another conversation") :]
    verdict = JudgeVerdict.model_validate_json(example[example.index("{") : example.index("true}") + 5])
    [citation] = verdict.citations
    [line] = [line for line in example.splitlines() if line.startswith(f"[{citation.where}]")]
    assert verdict.passed
    assert citation.quote in line


def test_worked_line_of_the_person_check_has_the_form_of_its_answer() -> None:
    text = read_built_in("person_check.jinja2")
    cited = Cited.model_validate_json(text[text.index('{"turn"') : text.index('"}.') + 2])
    assert f"turn {cited.turn} in which" in text
    assert f'"{cited.quote} today?"' in text
