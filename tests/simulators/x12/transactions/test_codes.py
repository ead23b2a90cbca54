"""The table of codes: every word of the payer has one."""

from typing import get_args

from clerkship.payer.answer import AuthorizationStatus, Benefit, PayerClaim, Rejection, RejectionReason
from clerkship.payer.inquiry import ReviewType, ServiceType, Unit
from clerkship.simulators.x12.transactions.codes import CODES, REVIEW_CODES, SERVICE_TYPE_CODES, to_aaa


def test_every_word_of_the_payer_has_a_code() -> None:
    assert {*SERVICE_TYPE_CODES} == {*get_args(ServiceType)}
    assert {*REVIEW_CODES} == {*get_args(ReviewType)}
    assert {*CODES.rejections} == {*get_args(RejectionReason)}
    assert {*CODES.decisions} == {*get_args(AuthorizationStatus)}
    assert {*CODES.benefits} == {*get_args(Benefit.model_fields["kind"].annotation)}
    assert {*CODES.claim_statuses} == {*get_args(PayerClaim.model_fields["status"].annotation)}
    assert {*CODES.benefit_units} == {*CODES.service_units} == {*get_args(Unit)}


def test_reasons_below_a_benefit_are_reasons_of_the_payer() -> None:
    assert {*CODES.benefit_level_reasons} <= {*get_args(RejectionReason)}


def test_rejection_has_the_code_of_its_transaction_and_subject() -> None:
    not_eligible = Rejection(reason="not_eligible", subject="subscriber", text="")
    assert to_aaa(not_eligible, "271") == ("N", "78", "C")
    assert to_aaa(not_eligible, "278") == ("N", "95", "N")
    name = Rejection(reason="name_mismatch", subject="dependent", text="")
    assert to_aaa(name, "271") == to_aaa(name, "278") == ("N", "65", "C")
