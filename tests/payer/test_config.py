"""The config of the payers: unknown keys and contradictions are errors."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.model.errors import InputError
from clerkship.payer.code_pattern import matches_code
from clerkship.payer.config import PayerConfig
from tests.payer.clinic import JANE, PayerClinic
from tests.payer.test_claims import CLAIM


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"payer": {}}, "payer\n  Extra inputs"),
        ({"plans": {"x": {"copay": 5}}}, "plans.x.copay\n  Extra inputs"),
        ({"plans": {"x": {"in_network": {"coinsurance": 20}}}}, "less than or equal to 1"),
        ({"payers": {"CM002": {"status": "closed"}}}, "'active', 'inactive' or 'unavailable'"),
        ({"members": [{**JANE, "coverages": []}]}, "at least 1 item"),
        ({"members": [JANE, JANE]}, "two members of CM002 have the id CM-555 000 111"),
        ({"members": [{**JANE, "coverages": [{"start": "2024-01-01", "end": "2023-01-01"}]}]}, "is before `start`"),
        (
            {"members": [{**JANE, "coverages": [{"plan": "cedar-select-ep", "start": "2024-01-01"}]}]},
            "CM-555 000 111 has the unknown plan `cedar-select-ep`",
        ),
        ({"claims": [{**CLAIM, "start": "2026-01-10", "end": "2026-01-09"}]}, "`end` (2026-01-09) is before `start`"),
        ({"claims": [{**CLAIM, "received": "2020-01-01"}]}, "`received` (2020-01-01) is before `start`"),
        ({"determinations": [{"status": "approved", "questions": [{"id": "a", "text": "b"}]}]}, "`questions` go with"),
        ({"determinations": [{"status": "approved", "then": [{"status": "denied"}]}]}, "`then` goes with"),
        ({"determinations": [{"status": "need_more_info"}]}, "`need_more_info` needs `questions`"),
        ({"determinations": [{"status": "modified"}]}, "`modified` needs `units` or `validity`"),
        ({"determinations": [{"status": "pending", "delay": "1d"}]}, "`pending` has both `delay` and `then`"),
        ({"determinations": [{"status": "denied", "match": {"procedure_code": []}}]}, "an empty list matches nothing"),
        ({"determinations": [{"status": "denied", "match": {"cpt": "1"}}]}, "match.cpt\n  Extra inputs"),
        ({"determinations": [{"status": "denied", "match": {"answers": {"a": {"gte": "b"}}}}]}, "gte"),
        ({"appeals": {"deadline": 0}}, "greater than or equal to 1"),
        ({"numbers": {"claim": "a_b"}}, "should match pattern"),
    ],
)
def test_a_mistake_in_the_config_is_an_error(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        PayerConfig.model_validate(config)
    assert message in str(caught.value)


def test_a_member_can_have_a_plan_of_the_config() -> None:
    coverage = {"plan": "house-plan", "start": "2024-01-01"}
    config = {"plans": {"house-plan": {}}, "members": [{**JANE, "coverages": [coverage]}]}
    assert PayerConfig.model_validate(config).members[0].coverages[0].plan == "house-plan"


def test_a_claim_or_accumulators_for_an_unknown_member_are_an_error() -> None:
    claim = {**CLAIM, "member_id": "CM0"}
    with pytest.raises(InputError) as caught:
        PayerClinic(claims=[claim], accumulators={"HL0": {"deductible_met": 5}})
    assert [problem.message for problem in caught.value.problems] == [
        "config of the payer: claims: CLM1 is for CM002/CM0/0, who is not a member",
        "config of the payer: accumulators: HL0 is not a member",
    ]


@pytest.mark.parametrize(
    ("pattern", "code", "is_match"),
    [
        ("72148", "72148", True),
        ("721*", "72148", True),
        ("721*", "72014", False),
        ("72141-72158", "72148", True),
        ("72141-72158", "72159", False),
        ("72141-72158", "7214", False),
        ("M54.5", "m545", True),
        ("D0100-D9999", "D0120", True),
        ("site-of-service", "SITE-OF-SERVICE", True),
        ("acme-gold", "acme-gold", True),
        ("acme-gold", "beta", False),
        ("*", "anything", True),
    ],
)
def test_codes_match_as_they_are_or_by_patterns_and_ranges(pattern: str, code: str, is_match: bool) -> None:
    assert matches_code(pattern, code) is is_match
