"""The SFTP benchmark does the work that it measures, with small sizes."""

import shutil

import pytest

from benchmarks.feeds_sftp import find_sshd, measure, table

pytestmark = pytest.mark.skipif(shutil.which("sftp") is None, reason="sftp is not installed")


@pytest.mark.slow
def test_both_servers_do_each_workload() -> None:
    found = measure(1, 5, 1)
    assert [row.work.files for row in found] == [1, 1, 5, 5, 5, 5]
    assert all(row.ours > 0 for row in found)
    if find_sshd() is not None:
        assert all(row.theirs is not None and row.theirs > 0 for row in found)
    lines = table(found).splitlines()
    assert len(lines) == 2 + len(found)
    assert "put of 1 MB, `sftp`" in lines[2]
    assert lines[2].endswith("| ≥ 0.8× |")


def test_without_openssh_only_clerkship_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.feeds_sftp.find_sshd", lambda: None)
    found = measure(1, 2, 1)
    assert all(row.theirs is None for row in found)
    assert "not here" in table(found)
