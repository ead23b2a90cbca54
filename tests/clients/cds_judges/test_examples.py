"""healthchain and the project agree on examples and their broken variants, but for the listed disagreements."""

import pytest

from tests.clients.cds_judges.disagreements import DISAGREEMENTS, REQUIRED_BY_JUDGE, RefusedBy, RequiredField
from tests.clients.cds_judges.judges import healthchain_errors, is_judged, settle
from tests.formats.cds_hooks.broken_examples import BROKEN, break_example, find_our_problems, load_example

JUDGED = tuple(filter(is_judged, BROKEN))


def test_judge_accepts_every_example() -> None:
    errors = healthchain_errors([(name, settle(load_example(name))) for name in JUDGED])
    assert {name: found for name, found in zip(JUDGED, errors, strict=True) if found} == {}


@pytest.mark.parametrize("field", REQUIRED_BY_JUDGE, ids=lambda field: field.name)
def test_judge_refuses_an_answer_without_a_field_that_only_it_requires(field: RequiredField) -> None:
    answer = settle(load_example(f"response-{field.list}"))
    assert healthchain_errors([("response", answer)]) == [[]]
    del next(card for card in answer["cards"] if card.get(field.list))[field.list][0][field.name]
    [errors] = healthchain_errors([("response", answer)])
    assert field.name in errors[0]
    assert find_our_problems("response", load_example(f"response-{field.list}")) == []


def test_only_listed_variants_are_judged_differently() -> None:
    cases = {(name, flaw): break_example(name, flaw) for name in JUDGED for flaw in BROKEN[name]}
    errors = healthchain_errors([(name, settle(data)) for (name, _), data in cases.items()])
    different: dict[tuple[str, str], RefusedBy] = {}
    for ((name, flaw), data), found in zip(cases.items(), errors, strict=True):
        ours = find_our_problems(name, data)
        if bool(ours) != bool(found):
            different[name, flaw] = "clerkship" if ours else "judge"
    listed = {
        (name, flaw): each.refused_by for each in DISAGREEMENTS for name in each.cases for flaw in each.cases[name]
    }
    assert different == listed
    assert len(cases) > 2 * len(listed)


def test_each_disagreement_is_listed_once() -> None:
    cases = [(name, flaw) for each in DISAGREEMENTS for name in each.cases for flaw in each.cases[name]]
    assert len(cases) == len(set(cases))
