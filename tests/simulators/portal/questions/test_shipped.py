"""The question sets that ship: what they cover, and that they agree with the payer's rules."""

from itertools import combinations

import pytest

from clerkship.payer.code_pattern import matches_any_code
from clerkship.payer.determination import needs_authorization
from clerkship.payer.determination_rule import AuthorizationRule, Determination
from clerkship.payer.inquiry import ReviewType
from clerkship.payer.plan import find_service_type, read_table
from clerkship.simulators.portal.questions.question_set import QuestionSet
from clerkship.simulators.portal.questions.shipped import (
    SET_FOLDER,
    find_question_sets,
    load_shipped_sets,
    merge_question_sets,
)

RULES = read_table("rules")
SERVICES = {
    "72148": "spine-imaging",
    "70553": "head-imaging",
    "71250": "chest-imaging",
    "74177": "abdomen-pelvis-imaging",
    "73721": "joint-imaging",
    "75574": "cardiac-imaging",
    "77049": "breast-mri",
    "97110": "physical-therapy",
    "27447": "knee-arthroplasty",
    "27130": "hip-arthroplasty",
    "63030": "lumbar-discectomy",
    "22551": "spinal-fusion",
    "43775": "bariatric-surgery",
    "95810": "sleep-study",
    "J1745": "infliximab",
    "J0135": "adalimumab",
    "J2350": "ocrelizumab",
    "E0601": "cpap",
    "99223": "inpatient-admission",
}


def build_set(id: str, codes: list[str], question: str = "weeks") -> QuestionSet:
    """Return a set with one question."""
    questions = [{"id": question, "text": "Weeks?", "type": "number"}]
    return QuestionSet.model_validate({"id": id, "title": "Own", "procedure_codes": codes, "questions": questions})


def test_every_shipped_set_is_for_a_service_that_needs_an_authorization() -> None:
    rules = [AuthorizationRule.model_validate(rule) for rule in RULES["authorization_required"]]
    sets = load_shipped_sets()
    assert {each.id for each in sets} == set(SERVICES.values())
    for code, id in SERVICES.items():
        [found] = find_question_sets(sets, (code,))
        assert found.id == id
        review: ReviewType = "admission" if id == "inpatient-admission" else "services"
        assert needs_authorization(rules, "any-plan", review, find_service_type(code), code), code


def test_shipped_sets_have_the_codes_that_the_payer_wants_authorized() -> None:
    ranges = [code for rule in RULES["authorization_required"] for code in rule.get("procedure_codes", ())]
    types = {row["service_type"]: row["codes"] for row in read_table("service_types")}
    ends = [end for code in (*ranges, *types["mri_ct"], *types["physical_therapy"]) for end in code.split("-")]
    assert [code for code in ends if not find_question_sets(load_shipped_sets(), (code,))] == []


def test_shipped_sets_are_named_by_their_files_and_share_no_code_and_no_meaning_of_an_id() -> None:
    sets = load_shipped_sets()
    assert [each.id for each in sets] == sorted(path.stem for path in SET_FOLDER.iterdir())
    for one, other in combinations(sets, 2):
        ends = [end for pattern in one.procedure_codes for end in pattern.split("-")]
        assert not matches_any_code(other.procedure_codes, ends), (one.id, other.id)
        theirs = {question.id: question for question in other.questions}
        for question in one.questions:
            same = theirs.get(question.id, question)
            fields = ("type", "choices", "min", "max")
            assert [getattr(same, name) for name in fields] == [getattr(question, name) for name in fields], question.id


def test_shipped_sets_have_four_to_nine_questions_with_branches_and_limits_in_the_hint() -> None:
    for question_set in load_shipped_sets():
        assert 4 <= len(question_set.questions) <= 9
        assert any(question.when for question in question_set.questions)
        for question in question_set.questions:
            if question.type == "number":
                assert f"from {question.min} to {question.max}" in question.hint, question.id
    used = {question.type for each in load_shipped_sets() for question in each.questions}
    assert used == {"text", "boolean", "number", "date", "choice"}


def test_questions_of_the_payers_rules_are_always_asked_with_the_same_id_and_type() -> None:
    rules = [Determination.model_validate(rule) for rule in RULES["determinations"]]
    asking = [rule for rule in rules if rule.questions]
    assert asking
    for rule in asking:
        [found] = find_question_sets(load_shipped_sets(), (str(rule.match.procedure_code).split("'")[1].split("-")[0],))
        asked = {question.id: (question.type, question.when) for question in found.questions}
        assert {question.id: (question.type, {}) for question in rule.questions}.items() <= asked.items()


def test_shipped_sets_are_read_once() -> None:
    assert load_shipped_sets() is load_shipped_sets()


def test_set_of_a_config_replaces_the_shipped_one_with_its_id() -> None:
    own = build_set("cpap", ["E0601"])
    merged = merge_question_sets((own,))
    assert [each for each in merged if each.id == "cpap"] == [own]
    assert len(merged) == len(load_shipped_sets())


def test_set_of_a_config_comes_first_for_its_codes_only() -> None:
    merged = merge_question_sets((build_set("own-knee", ["73721"]),))
    assert [each.id for each in find_question_sets(merged, ("73721",))] == ["own-knee"]
    assert [each.id for each in find_question_sets(merged, ("73221",))] == ["joint-imaging"]


@pytest.mark.parametrize(
    ("codes", "ids"),
    [
        (("97110", "72148", "97140"), ["physical-therapy", "spine-imaging"]),
        (("j1745", "99999"), ["infliximab"]),
        ((), []),
    ],
)
def test_procedures_have_the_sets_of_each_in_order(codes: tuple[str, ...], ids: list[str]) -> None:
    assert [each.id for each in find_question_sets(load_shipped_sets(), codes)] == ids
