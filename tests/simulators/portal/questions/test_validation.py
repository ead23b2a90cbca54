"""Mistakes in question sets are reported with file and line when a suite is validated."""

from dataclasses import replace
from pathlib import Path

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.plugin_loading import NO_PLUGINS
from clerkship.service.checking import ValidationRequest, validate
from clerkship.settings import Settings
from clerkship.simulators.chat import SPEC
from clerkship.simulators.portal.config import PortalConfig
from clerkship.simulators.portal.questions.possible_answers import PossibleAnswers
from clerkship.simulators.portal.questions.question_set import QuestionSet
from clerkship.simulators.portal.questions.shipped import load_shipped_sets
from clerkship.simulators.registry import KindEntry
from clerkship.suite_files.yaml import parse_yaml

ENTRY = KindEntry.from_spec(replace(SPEC, kind="desk", config=PortalConfig, events=(), steps=()))
CATALOG = RegisteredCatalog((ENTRY,), NO_PLUGINS)
HEAD = """\
id: own
title: Own
procedure_codes: ["1"]
questions:
  - {id: hurt, text: Hurt?, type: boolean, stop: [{answer: false, text: Call.}]}
  - {id: weeks, text: Weeks?, type: number, min: 0, max: 52}
  - {id: side, text: Side?, type: choice, choices: [Left, Right, Both]}
  - {id: day, text: Day?, type: date, required: false}
  - {id: free, text: Note?, type: text}
  - {id: short, text: Why so short?, type: text, when: {weeks: {lt: 6}}}
"""
LINE = HEAD.count("\n") + 1


def find_problems(folder: Path, *sets: str) -> list[str]:
    """Validate a suite whose portal has some question sets, each in a file of its own; return the problems."""
    names = [f"sets/{number:02}.yml" for number in range(len(sets))]
    (folder / "sets").mkdir()
    for name, text in zip(names, sets, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    included = ", ".join(f"!include {name}" for name in names)
    simulators = f"{{portal: {{kind: desk, config: {{question_sets: [{included}]}}}}}}"
    (folder / "environment.yml").write_text(
        f"environment: {{name: clinic, simulators: {simulators}}}\n", encoding="utf-8"
    )
    (folder / "task.yml").write_text("task: {name: T, environment: clinic}\n", encoding="utf-8")
    validation = validate(ValidationRequest(path=folder), Settings(), CATALOG)
    assert validation.exit_code() == (2 if validation.problems else 0)
    return [str(problem).replace(f"{folder}/", "") for problem in validation.problems]


def test_right_set_has_no_problems(tmp_path: Path) -> None:
    assert find_problems(tmp_path, HEAD) == []


def test_example_of_the_guide_is_right(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "guide" / "write_a_question_set.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    assert find_problems(tmp_path, example) == []
    assert QuestionSet.model_validate(parse_yaml(example, "guide").data).id == "cardiac-rehabilitation"
    assert f"Sets for {len(load_shipped_sets())} services are built in" in page


MISTAKES = {
    "id: «hurt, type: text": "an earlier question has the id `hurt` too; choose another",
    "id: «Q, type: text": "expected a lower-case letter, then lower-case letters, digits and _, at most 40 characters",
    "«id: q, type: choice": "`type: choice` needs `choices`, at least two",
    "id: q, type: choice, choices: «[A]": "`type: choice` needs `choices`, at least two",
    "id: q, type: choice, choices: «[A, a]": "two choices are the same (capital letters do not count)",
    "id: q, type: text, choices: «[A, B]": "`choices` go with `type: choice`, not with `type: text`",
    "id: q, type: text, min: «1": "`min` goes with `type: number`, not with `type: text`",
    "id: q, type: number, min: 5, max: «4": "`max` is less than `min`, which is 5",
    "id: q, type: text, when: {q: «a}": "a question cannot depend on itself; name an earlier one",
    "id: q, type: text, when: {last: «a}": "`last` is asked later; move it before this question",
    "id: q, type: text, when: {wekes: «1}": "unknown question `wekes`; did you mean `weeks`?",
    "id: q, type: text, when: {hurt: «yes}": "the answer can never be 'yes' (expected: true or false)",
    "id: q, type: text, when: {side: «left}": "the answer can never be 'left' (expected: Left, Right, Both)",
    "id: q, type: text, when: {side: «{in: [Left, Up]}}": "the answer can never be 'Up' (expected: Left, Right, Both)",
    "id: q, type: text, when: {weeks: «60}": "never be 60 (expected: a number of at least 0 and at most 52)",
    "id: q, type: text, when: {weeks: «{gt: 52}}": "the answer can never be more than 52 (expected: a number",
    "id: q, type: text, when: {weeks: «{gte: a}}": "expected a number or a date to compare with, not 'a'",
    "id: q, type: text, when: {day: «3/6/2026}": "'3/6/2026' (expected: a date such as 2026-03-06)",
    "id: q, type: text, when: {free: «5}": "the answer can never be 5 (expected: a text)",
    "id: q, type: text, when: {free: «{exists: false}}": "the answer can never be exists false (expected: a text)",
    "id: q, type: text, when: {short: a, weeks: «{gte: 6}}": (
        "it can never be asked: the answer to `weeks` would have to be less than 6 and at least 6"
    ),
    "id: q, type: text, when: {hurt: «false}": (
        "it can never be asked: every answer to `hurt` with which it is asked stops the request"
    ),
    "id: q, type: boolean, stop: [{answer: «1, text: Call.}]": "can never be 1 (expected: true or false)",
    "id: q, type: number, stop: [{answer: {lt: 5}, text: A}, {answer: «4, text: B}]": (
        "a `stop` before this one has all of these answers"
    ),
    "id: q, type: boolean, stop: «[{answer: true, text: A}, {answer: false, text: B}]": (
        "every answer stops the request; leave one with which it can be submitted"
    ),
    "id: q, type: boolean, stop: [«{answer: true}]": "`text` is missing",
}
"""Questions with a mistake each: « is before the place where it is reported."""


def test_each_mistake_in_a_question_is_reported_at_its_place(tmp_path: Path) -> None:
    sets, places = [], []
    for number, marked in enumerate(MISTAKES):
        line = f"  - {{{marked}, text: Q?}}".replace("{«", "«{" if marked.startswith("«") else "{«")
        places.append(f"sets/{number:02}.yml:{LINE}:{line.index('«') + 1}")
        sets.append(f"{HEAD}{line.replace('«', '')}\n  - {{id: last, text: Last?, type: text}}\n")
    problems = find_problems(tmp_path, *sets)
    assert [problem.split(": ")[0] for problem in problems] == places
    wrong = [(message, text) for message, text in zip(MISTAKES.values(), problems, strict=True) if message not in text]
    assert wrong == []


def test_contradiction_along_a_chain_is_reported_once(tmp_path: Path) -> None:
    chain = """\
  - {id: a, text: A?, type: text, when: {side: {not: Both}}}
  - {id: b, text: B?, type: text, when: {a: x}}
  - {id: c, text: C?, type: text, when: {b: x, side: {not: Left}}}
  - {id: d, text: D?, type: text, when: {c: x, side: {in: [Left, Both]}}}
  - {id: e, text: E?, type: text, when: {d: x}}
"""
    [problem] = find_problems(tmp_path, HEAD + chain)
    assert problem.startswith(f"sets/00.yml:{LINE + 3}:")
    assert "the answer to `side` would have to be" in problem


def test_all_mistakes_of_a_set_are_reported_each_at_its_line(tmp_path: Path) -> None:
    wrong = "  - {id: hurt, text: A?, type: text}\n  - {id: b, text: B?, type: text, when: {no: 1, side: Up}}\n"
    problems = find_problems(tmp_path, HEAD + wrong)
    assert [problem.split(":")[1] for problem in problems] == [str(LINE), str(LINE + 1), str(LINE + 1)]


def test_repeated_set_and_other_type_of_a_known_question_are_reported(tmp_path: Path) -> None:
    other = HEAD.replace("id: own", "id: other").replace("type: text}", "type: boolean}")
    shipped = """\
id: third
title: Third
procedure_codes: ["3"]
questions:
  - {id: red_flags, text: Which?, type: text}
"""
    problems = find_problems(tmp_path, HEAD, other, HEAD, shipped)
    assert [problem.split(": ")[0] for problem in problems] == ["sets/01.yml:9:5", "sets/02.yml:1:5", "sets/03.yml:5:5"]
    assert "the set `own` asks `free` as text; do the same, or choose another id" in problems[0]
    assert "an earlier set has the id `own` too; choose another" in problems[1]
    assert "asks `red_flags` as boolean; do the same, or choose another id" in problems[2]


@pytest.mark.parametrize(
    ("possible", "expected", "is_possible"),
    [
        (PossibleAnswers("number"), [{"gt": 5}, {"lt": 6}, {"not": 5.5}], True),
        (PossibleAnswers("number"), [{"gt": 5}, {"lte": 5}], False),
        (PossibleAnswers("number", min=5, max=5), [{"not": 5}], False),
        (PossibleAnswers("number", max=3), [{"lt": -(10**400)}], False),
        (PossibleAnswers("number", max=3), [{"approx": {"value": 5, "tolerance": 3}}, {"gt": 2.5}], True),
        (PossibleAnswers("date"), [{"gt": "2026-03-01"}, {"lt": "2026-03-03"}], True),
        (PossibleAnswers("date"), [{"gt": "2026-03-01"}, {"lt": "2026-03-02"}], False),
        (PossibleAnswers("date"), [{"lt": "9999-12-31"}], True),
        (PossibleAnswers("text"), [{"matches": "^a"}, {"not": "a"}], True),
        (PossibleAnswers("text"), ["a", "b"], False),
        (PossibleAnswers("text"), [{"not": {"in": ["other", "a"]}}], True),
        (PossibleAnswers("choice", ("Left", "Right")), [{"matches": "^Up"}], False),
        (PossibleAnswers("boolean"), [{"not": True}, {"not": False}], False),
    ],
)
def test_conditions_that_no_answer_meets_are_found(
    possible: PossibleAnswers, expected: list[object], *, is_possible: bool
) -> None:
    assert possible.can_match(expected) == is_possible
