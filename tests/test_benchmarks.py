"""The benchmark against other harnesses: its arithmetic and its table, without installing a peer."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks.peers import (
    Cost,
    Peer,
    PeerFailed,
    Row,
    Size,
    best,
    chosen,
    cost_row,
    launched,
    render,
    size_row,
    worked,
)


def test_ratio_is_peer_divided_by_clerkship() -> None:
    row = cost_row("100 single cases", "peer 1.0", Cost(3.0, 5.0, 90.0, False), Cost(0.5, 0.1, 45.0, True))
    assert row.ratio == 6.0
    assert row.cpu == pytest.approx(50.0)
    head, rule, line = render([row]).splitlines()
    assert head.count("|") == rule.count("|") == line.count("|")
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:4] == ["peer 1.0", "100 single cases", "3.00 s", "0.500 s"]
    assert cells[4:] == ["6.00×", "50×", "90 / 45 MB", "theirs not kept, ours kept"]


def test_ratio_is_below_one_if_clerkship_is_slower() -> None:
    assert "| 0.80× |" in render([cost_row("x", "p", Cost(0.4, 1, 1), Cost(0.5, 1, 1))])


def test_best_of_several_measurements_is_taken_for_each_figure() -> None:
    assert best([Cost(2.0, 1.0, 50.0, True), Cost(1.0, 3.0, 40.0, True)]) == Cost(1.0, 1.0, 40.0, True)


def test_installs_are_compared_by_megabytes() -> None:
    row = size_row("p", Size(80, 220.0), Size(19, 22.0))
    assert (row.theirs, row.ours, row.ratio) == ("80 packages, 220 MB", "19 packages, 22 MB", 10.0)


def test_failure_is_one_line_of_the_table() -> None:
    told = render([Row("install", "p", "failed", note="no such | thing\nat all")]).splitlines()
    assert told[2] == "| p | install | failed |  |  |  |  | no such / thing at all |"
    assert len(told) == 3


def test_script_reports_seconds_and_launcher_reports_peak_memory(tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    told = {"seconds": 1.5, "cpu": 0.5, "persisted": True}
    script.write_text(f"held = bytearray(40_000_000)\nprint('chatter')\nprint('''{json.dumps(told)}''')\n")
    cost = worked(lambda scratch: [sys.executable, str(script)], None, {})
    assert (cost.seconds, cost.cpu, cost.persisted) == (1.5, 0.5, True)
    assert 40 < cost.peak < 200


def test_failed_command_is_reported_with_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(PeerFailed, match="no tokeniser"):
        launched([sys.executable, "-c", "raise SystemExit('trying\\nno tokeniser')"], tmp_path, tmp_path, {})


def test_peers_are_selected_by_name_and_unknown_name_is_an_error() -> None:
    assert [peer.name for peer in chosen("deepeval,ours")] == ["deepeval"]
    assert chosen("ours") == []
    assert all(isinstance(peer, Peer) for peer in chosen(""))
    with pytest.raises(SystemExit, match="there are inspect_ai"):
        chosen("inspector")
