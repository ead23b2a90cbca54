"""`clerkship fax`: read and show the pages of a suite."""

import json
from pathlib import Path

import pytest
from PIL import Image

from clerkship.cli.app import run
from clerkship.formats.fax_pages import ocr

SUITE = """
datasets:
  - {name: page texts, type: fax_texts, file: data/texts.json}
environment:
  name: clinic
  datasets: [page texts]
  simulators:
    fax:
      kind: fax
      config: {dial_time: 1s, page_time: 1s, contacts: [{name: Harbor Imaging, number: "+15550109000"}]}
tasks:
  - name: Forward the report
    solution: solve.py
    task_item: {instruction: Fax the report that arrived to Harbor Imaging.}
    scenario:
      steps:
        - fax.receive: {from: "+15550109000", text: "Report for Ada Okafor, MRN-4471902"}
    criteria:
      - label: The report is sent
        assertion: {fax_document: {to: "+15550109000", contains: [MRN-4471902]}}
  - name: Quiet day
    solution: solve.py
    task_item: {instruction: Nothing arrives.}
    criteria: [{label: The answer, assertion: {answer_matches: done}}]
"""
SOLUTION = """
import io
from font_roboto import Roboto
from PIL import Image, ImageDraw, ImageFont

def draw(text):
    image = Image.new("L", (1728, 900), 255)
    ImageDraw.Draw(image).text((150, 300), text, fill=0, font=ImageFont.truetype(Roboto, 48))
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()

def on_task(task_item, sandboxes):
    fax = sandboxes["fax"]
    for received in fax.faxes(direction="inbound"):
        fax.send("+15550109000", files={"report.png": draw("Dear colleagues, see MRN-4471902")})
        while fax.faxes(direction="outbound")[0]["status"] != "delivered":
            pass  # each request moves the clock by a second
    return "done"
"""


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("suite").mkdir()
    Path("suite/clinic.yml").write_text(SUITE)
    Path("suite/solve.py").write_text(SOLUTION)


@pytest.mark.slow
def test_ocr_writes_the_text_of_every_page_to_the_file_of_the_dataset(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["fax", "ocr", "suite", "--json"]) == 0
    result = json.loads(capfd.readouterr().out)
    texts = json.loads(Path("suite/data/texts.json").read_bytes())
    assert (result["file"], result["read"], result["removed"]) == ("suite/data/texts.json", len(texts), 0)
    words = [" ".join(row[0] for row in rows) for rows in texts.values()]
    assert any("Report for Ada" in text for text in words)
    assert any("Dear colleagues, see MRN-4471902" in text for text in words)


def test_ocr_reads_only_new_pages_and_removes_old_ones(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["fax", "ocr", "suite"]) == 0
    first = json.loads(Path("suite/data/texts.json").read_bytes())
    Path("suite/clinic.yml").write_text(SUITE.replace("Report for Ada", "Report on Ada"))
    assert run(["fax", "ocr", "suite::Forward the report", "--keep"]) == 2  # a folder has no tasks by name
    capfd.readouterr()
    assert run(["fax", "ocr", "suite", "--keep", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["removed"] == 0
    kept = json.loads(Path("suite/data/texts.json").read_bytes())
    assert first.items() < kept.items()
    assert run(["fax", "ocr", "suite", "--json"]) == 0
    result = json.loads(capfd.readouterr().out)
    assert (result["read"], result["removed"]) == (0, len(kept) - result["pages"])
    assert result["removed"] > 0


def test_ocr_of_one_task_keeps_the_texts_of_the_others(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["fax", "ocr", "suite"]) == 0
    first = Path("suite/data/texts.json").read_bytes()
    assert run(["fax", "ocr", "suite/clinic.yml::Quiet day"]) == 0
    assert Path("suite/data/texts.json").read_bytes() == first


def test_ocr_of_a_suite_that_does_not_exist_writes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["fax", "ocr", "missing"]) == 2
    assert "missing: there is no such file or folder" in capfd.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["suite"]


def test_folder_that_cannot_be_written_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    Path("suite/data").mkdir()
    Path("suite/data/texts.json").write_text("{}")
    Path("taken").write_text("a file")
    assert run(["fax", "preview", "suite", "--out", "taken"]) == 2
    message = capfd.readouterr().err
    assert "taken" in message
    assert "it cannot be written" in message


def test_a_suite_with_its_texts_runs_without_the_engine(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["fax", "ocr", "suite/clinic.yml::Forward the report"]) == 0
    monkeypatch.setattr(ocr, "_PACKAGES", ("no_such_engine",))
    monkeypatch.setenv("CLERKSHIP_CACHE", str(Path("empty").absolute()))
    assert run(["run", "suite/clinic.yml::Forward the report", "--agent", "oracle"]) == 0
    capfd.readouterr()
    Path("suite/data/texts.json").write_text("{}")
    assert run(["run", "suite/clinic.yml::Forward the report", "--agent", "oracle"]) == 2
    assert "pip install 'clerkship[ocr]'" in capfd.readouterr().out


def test_ocr_of_a_task_that_crashes_writes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    Path("suite/solve.py").write_text(SOLUTION.replace('return "done"', "return 1 / 0"))
    assert run(["fax", "ocr", "suite"]) == 2
    assert "the task `Forward the report` was not completed: agent_failed" in capfd.readouterr().err
    assert json.loads(Path("suite/data/texts.json").read_bytes()) == {}


def test_ocr_without_the_engine_says_how_to_install_it(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ocr, "_PACKAGES", ("no_such_engine",))
    assert run(["fax", "ocr", "suite"]) == 2
    assert "pip install 'clerkship[ocr]'" in capfd.readouterr().err
    assert not Path("suite/data/texts.json").exists()


def test_ocr_of_a_damaged_file_names_it(capfd: pytest.CaptureFixture[str]) -> None:
    Path("suite/data").mkdir()
    Path("suite/data/texts.json").write_text('{"abc": []}')
    assert run(["fax", "ocr", "suite"]) == 2
    assert "'abc' is not the hash of a page" in capfd.readouterr().err


def test_preview_writes_the_pages_that_arrive(capfd: pytest.CaptureFixture[str]) -> None:
    Path("suite/data").mkdir()
    Path("suite/data/texts.json").write_text("{}")
    assert run(["fax", "preview", "suite", "--out", "pages"]) == 0
    [picture] = Path("pages").iterdir()
    assert picture.name == "forward-the-report-fax-1-15550109000-page-1.png"
    assert str(picture) in capfd.readouterr().out
    with Image.open(picture) as image:
        assert image.width == 1728


def test_preview_of_a_task_without_faxes_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    Path("suite/data").mkdir()
    Path("suite/data/texts.json").write_text("{}")
    assert run(["fax", "preview", "suite/clinic.yml::Quiet day"]) == 2
    assert "no fax arrives in these tasks; the step fax.receive sends one" in capfd.readouterr().err
