"""Labels on verdicts of judges, written for `clerkship judge calibrate`."""

from pathlib import Path

import pytest

from clerkship.cli.app import run
from clerkship.model.errors import InputError
from clerkship.service.calibrating import CalibrationRequest, calibrate, plan_calibration
from clerkship.service.labelling import VerdictLabel, label_verdict
from clerkship.settings import Settings
from clerkship.suite_files.yaml import parse_yaml
from tests.actors.servers import Served
from tests.llm.endpoint import KEY
from tests.service.test_calibrating import answer_by_snow, judge_reference, run_judged
from tests.workbench import CATALOG, Workbench

NOTE = "it says nothing of the reason"
CRITERION = "It says why"
RIGHT = VerdictLabel("Late", CRITERION, is_right=True)
WRONG = VerdictLabel("Late", CRITERION, is_right=False, note=NOTE)


@pytest.fixture
def judged(bench: Workbench) -> str:
    """Return a run in which a judge passed the one criterion."""
    with Served(answer_by_snow) as served:
        return run_judged(bench, judge_reference(served))


def test_label_that_a_judge_is_wrong_is_read_by_calibrate(bench: Workbench, judged: str) -> None:
    written = label_verdict(bench.store, judged, WRONG)
    assert (written.passed, written.file) == (False, bench.store.path.parent / "labelled.yml")
    with Served(answer_by_snow) as served:
        request = CalibrationRequest(path=written.file, judge=judge_reference(served))
        plan = plan_calibration(request, Settings(timeout=20, openai_api_key=KEY), CATALOG, bench.store)
        overall = calibrate(plan).calibration.overall
    assert (overall.judged, overall.false_passes) == (1, 1)


def test_second_label_replaces_the_first_and_comments_stay(bench: Workbench, judged: str) -> None:
    file = label_verdict(bench.store, judged, WRONG).file
    file.write_text(file.read_text() + "# read by two of us\n")
    label_verdict(bench.store, judged, RIGHT)
    data = parse_yaml(file.read_text(), file.name).data
    assert [item["labels"] for item in data["labelled"]] == [[{"criterion": CRITERION, "passed": True}]]
    assert "# read by two of us" in file.read_text()


def test_criterion_without_a_judge_is_refused(bench: Workbench, judged: str) -> None:
    with pytest.raises(InputError, match="no judge decided the criterion 'Another'") as refused:
        label_verdict(bench.store, judged, VerdictLabel("Late", "Another", is_right=True))
    assert CRITERION in str(refused.value)


def test_file_that_is_no_labelled_set_stays_as_it_is(bench: Workbench, judged: str, tmp_path: Path) -> None:
    file = tmp_path / "other.yml"
    for text, message in (("tasks: []\n", "no labelled set"), ("labelled: [\n", "other.yml:")):
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            label_verdict(bench.store, judged, RIGHT, file)
        assert file.read_text() == text


def test_command_writes_the_label(bench: Workbench, judged: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["judge", "label", judged, "Late", CRITERION, "--wrong", "--store", str(bench.store.path)]) == 0
    assert "It says why: it does not hold" in capsys.readouterr().out
