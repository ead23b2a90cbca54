"""Generic faults on a fax line: what the agent must cope with, and what must not happen twice."""

from datetime import timedelta

import pytest

from clerkship.sandbox.faults.contract import Fault
from clerkship.sandbox.faults.request_faults import DropFault, DuplicateFault, ErrorFault, LatencyFault, TruncatedFault
from clerkship.sandbox.handle import Dropped, Incomplete, Refused
from tests.simulators.fax.clinic import LAB, FaxClinic


@pytest.mark.parametrize(
    ("fault", "error", "faxes"),
    [
        (ErrorFault(times=1), Refused, 0),
        (DropFault(times=1), Dropped, 0),
        (DropFault(times=1, when="reply"), Dropped, 1),
    ],
)
def test_send_that_fails_leaves_as_many_faxes_as_were_accepted(
    fault: Fault, error: type[Exception], faxes: int
) -> None:
    with FaxClinic() as clinic:
        clinic.rig.playground.inject(fault)
        with pytest.raises(error):
            clinic.handle.send(LAB, text="x")
        assert len(clinic.handle.faxes()) == faxes


def test_duplicated_request_sends_two_faxes_with_one_page_stored() -> None:
    with FaxClinic() as clinic:
        clinic.rig.playground.inject(DuplicateFault(times=1))
        clinic.handle.send(LAB, text="x")
        assert (clinic.kinds.count("queued"), clinic.kinds.count("page.stored")) == (2, 1)


def test_truncated_download_is_incomplete_and_complete_the_next_time() -> None:
    with FaxClinic() as clinic:
        id = clinic.receive()
        clinic.rig.playground.inject(TruncatedFault(times=1))
        with pytest.raises(Incomplete):
            clinic.handle.download(id, "tiff")
        assert clinic.handle.download(id, "tiff").startswith(b"II")


def test_latency_lets_simulated_time_pass_for_faxes_under_way() -> None:
    with FaxClinic() as clinic:
        id = clinic.send(LAB)["id"]
        clinic.rig.playground.inject(LatencyFault(by=timedelta(minutes=10), times=1))
        clinic.handle.contacts()
        assert clinic.handle.status(id)["status"] == "delivered"
