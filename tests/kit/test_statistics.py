"""Statistics compared with published values and with enumeration."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.kit.statistics import (
    cohen_kappa,
    fisher_exact_test,
    paired_interval,
    paired_test,
    pass_at_k,
    pass_hat_k,
    side_of_threshold,
    wilson_interval,
)
from tests.examples import examples


def test_wilson_interval_matches_published_values() -> None:
    # Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for passed, total, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        found = wilson_interval(passed, total)
        assert found is not None
        assert found.low == pytest.approx(low, abs=5e-5)
        assert found.high == pytest.approx(high, abs=5e-5)


@settings(deadline=None)
@given(st.integers(1, 8), st.data())
def test_pass_at_k_and_pass_hat_k_match_enumeration(total: int, data: st.DataObject) -> None:
    passed, k = data.draw(st.integers(0, total)), data.draw(st.integers(1, total))
    draws = list(itertools.combinations([True] * passed + [False] * (total - passed), k))
    assert pass_at_k(k, passed, total) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(k, passed, total) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_fisher_exact_test_matches_published_values() -> None:
    assert fisher_exact_test(3, 4, 1, 4) == pytest.approx(0.4857, abs=1e-4)  # the lady tasting tea, two-sided
    assert fisher_exact_test(5, 5, 0, 5) == pytest.approx(0.0079, abs=1e-4)
    assert fisher_exact_test(2, 2, 2, 2) == 1


def test_paired_test_equals_mcnemar_for_single_trials() -> None:
    better, worse = 9, 2
    differences = [Fraction(1)] * better + [Fraction(-1)] * worse + [Fraction(0)] * 50
    tail = sum(math.comb(11, n) for n in range(worse + 1)) / 2**11
    assert paired_test(differences) == pytest.approx(2 * tail)
    assert paired_test([Fraction(0)] * 5) == paired_test([]) == 1


@settings(deadline=None)
@given(st.lists(st.fractions(-1, 1, max_denominator=5), min_size=1, max_size=9))
def test_paired_test_matches_enumeration_of_signs(differences: list[Fraction]) -> None:
    sums: list[Fraction] = [
        abs(sum((sign * d for sign, d in zip(signs, differences, strict=True)), Fraction()))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    far = abs(sum(differences, Fraction()))
    at_least = sum(found >= far for found in sums)
    assert paired_test(differences) == pytest.approx(at_least / len(sums))


def test_paired_test_uses_normal_approximation_for_large_inputs() -> None:
    moved = [Fraction(1)] * 440 + [Fraction(-1)] * 360
    exact = 2 * sum(math.comb(800, n) for n in range(361)) / 2**800
    assert paired_test(moved) == pytest.approx(exact, rel=0.1)


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.sampled_from([Fraction(-1), Fraction(0), Fraction(1)]), min_size=1, max_size=40))
def test_paired_interval_is_in_range_and_symmetric(differences: list[Fraction]) -> None:
    found, turned = paired_interval(differences), paired_interval([-difference for difference in differences])
    assert found is not None
    assert turned is not None
    assert -1 <= found.low <= found.high <= 1
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))


def test_paired_interval_matches_agresti_and_min() -> None:
    # Of 100 tasks 12 got better and 4 worse: (8/102) ± 1.96·sqrt(17 − 64/102)/102.
    found = paired_interval([Fraction(1)] * 12 + [Fraction(-1)] * 4 + [Fraction(0)] * 84)
    assert found is not None
    margin = 1.959964 * math.sqrt(17 - 64 / 102) / 102
    assert found == pytest.approx((0.08, 8 / 102 - margin, 8 / 102 + margin))
    assert paired_interval([]) is None


def test_sides_of_a_threshold() -> None:
    assert side_of_threshold(16, 16, 0.8) == "above"
    assert side_of_threshold(15, 15, 0.8) == "not sure"
    assert side_of_threshold(0, 5, 0.8) == "below"
    assert side_of_threshold(4, 5, 0.8) == "not sure"
    assert side_of_threshold(0, 0, 0.8) == "not sure"


def test_four_tasks_that_changed_one_way_are_not_significant() -> None:
    moved = [Fraction(-10, 49), Fraction(-9, 47), Fraction(-11, 48), Fraction(-8, 46)]
    assert paired_test(moved) == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("both_yes", "first_alone", "second_alone", "both_no", "expected"),
    [
        (20, 5, 10, 15, 0.4),  # 35 of 50 agree, 25 by chance
        (45, 15, 25, 15, 0.1304),  # the same agreement of 60 % in 100, and by chance 54 %
        (25, 35, 5, 35, 0.2593),  # and by chance 46 %
        (12, 1, 1, 10, 0.8322),  # 22 of 24: (22 * 24 - 290) / (576 - 290)
        (1, 0, 0, 1, 1.0),
        (0, 1, 1, 0, -1.0),
        (3, 3, 0, 0, 0.0),  # the second always says no where the first says both, and the other way round
        (3, 0, 3, 0, 0.0),
    ],
)
def test_kappa_matches_hand_computed_values(
    both_yes: int, first_alone: int, second_alone: int, both_no: int, expected: float
) -> None:
    assert cohen_kappa(both_yes, first_alone, second_alone, both_no) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("table", [(0, 0, 0, 0), (7, 0, 0, 0), (0, 0, 0, 7)])
def test_kappa_is_none_without_agreement_beyond_chance(table: tuple[int, int, int, int]) -> None:
    assert cohen_kappa(*table) is None


@settings(deadline=None)
@given(st.tuples(*[st.integers(0, 40)] * 4))
def test_kappa_is_in_range_and_symmetric(table: tuple[int, int, int, int]) -> None:
    both_yes, first_alone, second_alone, both_no = table
    found = cohen_kappa(*table)
    assert (
        found
        == cohen_kappa(both_yes, second_alone, first_alone, both_no)
        == cohen_kappa(both_no, *table[1:3], both_yes)
    )
    if found is None:
        assert first_alone == second_alone == 0
        assert 0 in (both_yes, both_no)
        return
    assert -1 <= found <= 1
    assert (found == 1) == (first_alone == second_alone == 0)
    # As it is defined: what is agreed on beyond chance, of all that chance leaves.
    total = sum(table)
    first, second = (both_yes + first_alone) / total, (both_yes + second_alone) / total
    chance = first * second + (1 - first) * (1 - second)
    assert found == pytest.approx(((both_yes + both_no) / total - chance) / (1 - chance))
