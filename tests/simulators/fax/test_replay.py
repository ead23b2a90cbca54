"""A playground that is rebuilt from its log: the same pages, the same calls, the same bytes."""

import pytest

from tests.simulators.fax.clinic import BUSY, FLAKY, LAB, FaxClinic


def fill(clinic: FaxClinic) -> None:
    clinic.receive(degradation={"noise": 1, "skew": 0.7, "missing_lines": 20}, seed="a")
    clinic.send(BUSY)
    clinic.send(FLAKY, "One page", max_retries=1)
    clinic.send(LAB, resolution="standard")


@pytest.mark.parametrize("seconds", [0, 20, 60, 85, 120, 400])
def test_fork_while_faxes_are_under_way_ends_with_the_same_log(seconds: float) -> None:
    with FaxClinic() as original:
        fill(original)
        original.wait(seconds)
        with FaxClinic(rig=original.rig.fork()) as fork:
            assert fork.state.next_due() == original.state.next_due()
            for clinic in (original, fork):
                clinic.wait()
                clinic.handle.download(next(iter(clinic.state.faxes)), "pdf")
                clinic.send(BUSY)
            assert fork.rig.lines == original.rig.lines
            assert fork.rig.dumped() == original.rig.dumped()


def test_log_rebuilds_the_state_and_the_downloads() -> None:
    with FaxClinic() as clinic:
        fill(clinic)
        clinic.wait()
        assert clinic.rig.rebuilt() == clinic.rig.dumped()
        ids = list(clinic.state.faxes)
        files = [clinic.handle.download(id, format) for id in ids for format in ("pdf", "tiff")]
        pictures = [clinic.handle.pages(id) for id in ids]
        with FaxClinic(rig=clinic.rig.fork()) as fork:
            assert [fork.handle.download(id, format) for id in ids for format in ("pdf", "tiff")] == files
            assert [fork.handle.pages(id) for id in ids] == pictures


def test_degraded_page_is_the_same_in_each_trial_with_the_same_seed() -> None:
    degradation = {"noise": 1, "speckle": 50}
    with FaxClinic() as first, FaxClinic() as second:
        first.receive("Another fax first")
        pages = [
            clinic.state.find_fax(clinic.receive(degradation=degradation, seed=seed)).header.pages
            for clinic, seed in ((first, "a"), (second, "a"), (second, "b"))
        ]
        assert pages[0] == pages[1]
        assert set(pages[1]).isdisjoint(pages[2])


def test_degradation_of_the_config_is_used_where_a_fax_has_none() -> None:
    with FaxClinic(degradation={"noise": 1}) as noisy, FaxClinic() as clean:
        page = clean.state.find_fax(clean.receive()).header.pages[0]
        assert noisy.state.find_fax(noisy.receive()).header.pages[0] != page
        assert noisy.state.find_fax(noisy.receive(degradation={})).header.pages[0] == page
