"""`file_present`: a file is there at the end, with the expected content."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.events.states import NoSuchState
from clerkship.sandbox.assertion import Check
from clerkship.simulators.files.assertions.file_present import FilePresent
from clerkship.simulators.files.events import FileWritten
from clerkship.simulators.files.state import FilesState
from tests.assertions.log_builder import START, LogBuilder

FILES = {
    "out/a.json": b'{"mrn": "1", "status": "received", "lines": [{"code": 7}]}',
    "out/b.json": b'{"mrn": "2", "status": "late"}',
    "out/c.json": b"not json",
    "scan.bin": b"\xff\xfe",
    "letter.txt": b"Dear colleague,",
}


def check(args: Any) -> Check:
    """Check a sandbox with FILES."""
    return FilePresent.model_validate(args).check(LogBuilder().with_files("drop", FILES).evidence())


@pytest.mark.parametrize(
    "args",
    [
        "letter.txt",
        {"path": "out/*"},
        {"path": "*.json", "sandbox": "drop"},
        {"path": "letter.txt", "text": {"contains": "colleague"}},
        {"path": "letter.txt", "text": "Dear colleague,"},
        {"path": "scan.bin", "text": {"exists": True}},
        {"path": "out/*", "fields": [{"path": "mrn", "expected": "2"}, {"path": "status", "expected": "late"}]},
        {"path": "out/a.json", "fields": [{"path": "lines[0].code", "expected": {"gt": 6}}]},
        {"path": "out/b.json", "fields": [{"path": "lines", "expected": {"exists": False}}]},
        {"path": "out/*", "count": 3},
        {"path": "out/*", "count": {"lt": 4}},
        {"path": "out/*", "text": {"contains": "mrn"}, "count": 2},
        {"path": "in/*", "absent": True},
        {"path": "out/*", "text": {"contains": "nothing like it"}, "absent": True},
    ],
)
def test_matching_file_passes(args: Any) -> None:
    assert check(args).passed


@pytest.mark.parametrize(
    ("args", "detail"),
    [
        (
            "in/*",
            "there is no file that matches in/*; there is letter.txt, out/a.json, out/b.json, out/c.json, scan",
        ),
        ({"path": "OUT/*"}, "there is no file that matches OUT/*"),
        ({"path": "out/*", "count": 2}, "file that matches out/*: out/a.json, out/b.json, out/c.json (expected 2)"),
        ({"path": "letter.txt", "absent": True}, "file that matches letter.txt: letter.txt (expected 0)"),
        ({"path": "letter.txt", "text": "Dear"}, "letter.txt is there, but not as expected"),
        (
            {"path": "out/c.json", "fields": [{"path": "mrn", "expected": "1"}]},
            "out/c.json is there, but not as expected: content is 'not JSON', expected 'json'; mrn is (absent)",
        ),
    ],
)
def test_failure_lists_existing_files(args: Any, detail: str) -> None:
    found = check(args)
    assert not found.passed
    assert found.detail.startswith(detail)


def test_best_file_is_compared_by_field_with_partial_score() -> None:
    fields = [
        {"path": "mrn", "expected": "1"},
        {"path": "status", "expected": "received"},
        {"path": "by", "expected": {"exists": True}},
    ]
    found = check({"path": "out/*", "fields": fields})
    assert not found.passed
    assert found.score == pytest.approx(2 / 3)
    assert found.detail == (
        "out/a.json is there (the nearest of 3), but not as expected: by is (absent), expected exists true"
    )
    assert [(row.path, row.expected, row.actual, row.passed) for row in found.evidence[:3]] == [
        ("mrn", "1", "1", True),
        ("status", "received", "received", True),
        ("by", {"exists": True}, "(absent)", False),
    ]
    assert found.evidence[3].path == "out/b.json: mrn"


def test_failure_with_many_files_lists_only_some() -> None:
    files = {f"f{number:05}.txt": b"" for number in range(10_000)}
    found = FilePresent.model_validate("missing").check(LogBuilder().with_files("drop", files).evidence())
    assert found.detail.endswith("f00009.txt and 9990 more")


def test_failure_with_no_files_says_so() -> None:
    found = FilePresent.model_validate("x").check(LogBuilder().with_files("drop", {}).evidence())
    assert "there is no file" in found.detail


@pytest.mark.parametrize(
    ("sandbox", "message"),
    [(None, "name the sandbox: there are 2"), ("chat", "no sandbox `chat` of this kind; there is drop, other")],
)
def test_missing_sandbox_is_an_error(sandbox: str | None, message: str) -> None:
    log_builder = LogBuilder().with_files("drop", FILES).with_files("other", {})
    with pytest.raises(NoSuchState, match=message):
        FilePresent(path="x", sandbox=sandbox).check(log_builder.evidence())


CSV = b'\xef\xbb\xbfmrn;name;k;when\r\n007;"Lopez; Maria";4.20;20260302\r\n\r\n008;Ben;;2026-03-01\r\n'
HL7 = (
    b"FHS|^~\\&\rBHS|^~\\&\r"
    b"MSH|^~\\&|LAB|X|EHR|Y|20260302||ORU^R01|1|P|2.5.1\rPID|1||M1^^^A~M2^^^B||LOPEZ^MARIA\r"
    b"OBR|1|||K\rOBX|1|NM|K||4.2||||||F\r"
    b"MSH|^~\\&|LAB|X|EHR|Y|20260302||ORU^R01|2|P|2.5.1\rPID|1||M9||BEN\rOBR|1|||K\rBTS|2\rFTS|1\r"
)
READ = {
    "out/a.csv": CSV,
    "out/one.txt": b"only\n1\n",
    "in/a.hl7": HL7,
    "latin.csv": "næme\nMøller\n".encode("latin-1"),
    "wide.csv": "a\tb\n1\t2\n".encode("utf-16"),
    "ragged.csv": b"a,b\n1,2\n1\n",
    "twice.csv": b"a,a\n1,2\n",
    "quotes.csv": b'a,b\n"1"x,2\n',
    "empty.csv": b"",
    "nul.csv": b"a,b\n\0,1\n",
    "cell.csv": b"a,b\n1," + b"x" * 200_000 + b"\n",
    "deep.json": b"[" * 900 + b"]" * 900,
    "deeper.json": b"[" * 100_000,
    "mark.json": b'\xef\xbb\xbf{"a": 5}',
    "not.hl7": b"PID|1\r",
    "odd.hl7": b"MSH|||\r",
    "bare.hl7": b"MSH|^~\\&|LAB|X|EHR|Y|20260302||ORU^R01|2|P|2.5.1\rPID|1||M9||BEN\r",
}


def check_content(args: Any) -> Check:
    """Check a sandbox with files of all formats."""
    return FilePresent.model_validate(args).check(LogBuilder().with_files("drop", READ).evidence())


def field(path: str, expected: Any) -> dict[str, Any]:
    return {"path": path, "expected": expected}


@pytest.mark.parametrize(
    ("path", "form", "fields"),
    [
        ("out/a.csv", "csv", [field("rows[0].mrn", "007"), field("[0].name", "Lopez; Maria"), field("1.name", "Ben")]),
        ("out/a.csv", "csv", [field("rows", 2), field("columns", ["mrn", "name", "k", "when"])]),
        ("out/a.csv", "csv", [field("columns[1]", "name"), field("columns", {"contains": "k"})]),
        ("out/a.csv", "csv", [field("[0].mrn", {"lt": 8}), field("[0].k", 4.2), field("[0].k", {"gt": 4, "lt": 5})]),
        ("out/a.csv", "csv", [field("[0].when", {"gte": "2026-03-02"}), field("[1].when", {"lt": "2026-03-02"})]),
        ("out/a.csv", "csv", [field("[*].name", "Ben"), field("[*].name", {"not": "Ada"})]),
        ("out/a.csv", "csv", [field("[1].k", ""), field("[1].k", None), field("[1].k", {"exists": False})]),
        ("out/a.csv", "csv", [field("[2].k", {"exists": False}), field("[0].none", {"exists": False})]),
        ("out/one.txt", "csv", [field("[0].only", "1"), field("columns", ["only"])]),
        ("wide.csv", "csv", [field("[0].b", 2)]),
        ("mark.json", "json", [field("a", 5)]),
        ("in/a.hl7", "hl7", [field("PID.5.1", "LOPEZ"), field("OBX.5", {"gt": 4}), field("PID.3[2].1", "M2")]),
        ("in/a.hl7", "hl7", [field("PID.3[*].1", "M2"), field("MSH.7", {"gte": "2026-03-01"})]),
        ("in/a.hl7", "hl7", [field("MSH.10", 2), field("PID.5.1", "BEN"), field("OBX.5", {"exists": False})]),
    ],
)
def test_content_of_file_is_compared(path: str, form: str, fields: list[dict[str, Any]]) -> None:
    found = check_content({"path": path, "parse": form, "fields": fields})
    assert (found.passed, found.score) == (True, 1.0), found.detail


def test_hl7_file_must_be_valid_unless_lenient() -> None:
    wanted = {"path": "bare.hl7", "parse": "hl7", "fields": [field("PID.5.1", "BEN")]}
    found = check_content(wanted)
    assert not found.passed
    assert "OBR" in found.detail
    assert check_content({**wanted, "valid": False}).passed


@pytest.mark.parametrize(
    ("path", "form", "one"),
    [
        ("out/a.csv", "csv", field("[0].mrn", "7")),
        ("out/a.csv", "csv", field("[0].mrn", 7)),
        ("out/a.csv", "csv", field("[0].none", "")),
        ("out/a.csv", "csv", field("[*].name", {"not": "Ben"})),
        ("out/a.csv", "csv", field("rows", 3)),
        ("in/a.hl7", "hl7", field("PID.5.1", "lopez")),
        ("in/a.hl7", "hl7", field("ZZZ.1", "x")),
        ("mark.json", "json", field("a", "5")),
    ],
)
def test_different_value_fails(path: str, form: str, one: dict[str, Any]) -> None:
    assert check_content({"path": path, "parse": form, "fields": [one]}).score == 0.0


@pytest.mark.parametrize(
    ("path", "form", "reason"),
    [
        ("ragged.csv", "csv", "not CSV: line 3 has 1 cells, and the header 2"),
        ("twice.csv", "csv", "not valid CSV: its header has 'a' twice"),
        ("quotes.csv", "csv", "not CSV: line 2: "),
        ("empty.csv", "csv", "not CSV: it has no header"),
        ("nul.csv", "csv", "not CSV: it contains a NUL"),
        ("cell.csv", "csv", "not CSV: line 2: field larger than field limit"),
        ("latin.csv", "csv", "not UTF-8 text"),
        ("deep.json", "json", "JSON that is nested too deep to be parsed"),
        ("deeper.json", "json", "not JSON"),
        ("empty.csv", "json", "empty, not JSON"),
        ("out/a.csv", "json", "not JSON"),
        ("not.hl7", "hl7", "not HL7: it contains no MSH segment"),
        ("odd.hl7", "hl7", "not HL7: MSH-1 and MSH-2 are not valid delimiters"),
    ],
)
def test_file_of_other_format_fails_with_reason(path: str, form: str, reason: str) -> None:
    fields = {"csv": "[0].a", "json": "a", "hl7": "PID.3"}
    found = check_content({"path": path, "parse": form, "fields": [field(fields[form], {"exists": False})]})
    assert (found.passed, found.score) == (False, 0.0)
    assert found.detail.startswith(f"{path} is there, but not as expected: content is ")
    assert str(found.evidence[0].actual).startswith(reason)
    assert not check_content({"path": path, "parse": form}).passed


@pytest.mark.parametrize("form", ["csv", "json", "hl7"])
def test_too_large_file_is_not_read(form: str) -> None:
    data = b"MSH|^~\\&|\r" + b"a\r" * 10_000_001
    log_builder = LogBuilder().with_files("drop", {"big": data})
    found = FilePresent.model_validate({"path": "big", "parse": form}).check(log_builder.evidence())
    assert found.detail.startswith("big is there, but not as expected: content is 'too large to be parsed: 20,")


def test_file_with_too_many_parts_is_not_read() -> None:
    lines = b"MSH|^~\\&|\r" + b"a\r" * 500_001
    log_builder = LogBuilder().with_files(
        "drop", {"big": b"a,b\n" + b",\n" * 1_000_001, "lines": lines, "wide": b"a," * 5_000_000}
    )
    found = FilePresent.model_validate({"path": "big", "parse": "csv"}).check(log_builder.evidence())
    assert "it has more than 2,000,000 cells" in found.detail
    found = FilePresent.model_validate({"path": "wide", "parse": "csv"}).check(log_builder.evidence())
    assert "it has more than 10,000 columns" in found.detail
    found = FilePresent.model_validate({"path": "lines", "parse": "hl7"}).check(log_builder.evidence())
    assert "it has more than 500,000 lines" in found.detail


def test_encoding_is_respected() -> None:
    args = {"path": "latin.csv", "encoding": "latin-1", "row": {"næme": "Møller"}}
    assert check_content(args).passed
    assert check_content({"path": "latin.csv", "encoding": "latin-1", "text": {"contains": "Møller"}}).passed
    assert not check_content({"path": "latin.csv", "text": {"contains": "Møller"}}).passed


def test_all_expected_values_must_be_in_one_row() -> None:
    assert check_content({"path": "out/a.csv", "row": {"mrn": "007", "k": {"gte": 4}}}).passed
    found = check_content({"path": "out/a.csv", "row": {"mrn": "008", "k": {"gte": 4}, "name": "Ben"}})
    assert not found.passed
    assert found.score == pytest.approx(2 / 3)
    assert found.detail == "out/a.csv is there, but not as expected: rows[1].k is '', expected at least 4"
    assert not check_content({"path": "out/one.txt", "row": {"mrn": "008"}}).passed


def test_differences_are_shown_with_count() -> None:
    found = check_content(
        {"path": "out/*", "parse": "csv", "fields": [field("columns", {"contains": "mrn"})], "count": 2}
    )
    assert found.detail == (
        "file that matches out/*: out/a.csv (expected 2); out/one.txt is not as expected: "
        "columns is [\"only\"], expected contains 'mrn'"
    )


def test_misspelt_path_names_nearest_file() -> None:
    assert check_content("outt/a.csv").detail.endswith("(nearest is out/a.csv)")


def test_absent_passes_without_file() -> None:
    assert check_content({"path": "gone/*", "none": True}).passed
    assert not check_content({"path": "out/*", "none": True}).passed
    assert check_content({"path": "out/*", "none": True, "row": {"mrn": "nobody"}}).passed


def test_modification_time_and_completeness_are_compared() -> None:
    log_builder = LogBuilder().with_files("drop", {"old.txt": b""})
    state = log_builder.states["drop"]
    assert isinstance(state, FilesState)
    state.apply(log_builder.add_write("new.txt"))
    then = (START - timedelta(days=3)).isoformat()
    half = FileWritten(path="half.txt", size=1, data=b"x", complete=False, modified=then)
    state.apply(log_builder.add_event(half, source="drop"))
    evidence = log_builder.evidence()

    def passes(args: Any) -> bool:
        return FilePresent.model_validate(args).check(evidence).passed

    assert passes({"path": "new.txt", "modified": {"gte": "2026-03-02T09:00:00Z"}, "complete": True})
    assert passes({"path": "half.txt", "modified": {"within": {"of": "2026-02-27T09:00:00Z", "by": "1s"}}})
    assert passes({"path": "half.txt", "complete": False})
    assert not passes({"path": "half.txt", "complete": True})
    assert passes({"path": "*", "complete": True, "count": 2})


@pytest.mark.parametrize(
    "args",
    [
        {"path": "a", "parse": "hl7", "fields": [field("pid.5", "x")]},
        {"path": "a", "parse": "csv", "fields": [field("mrn", "x")]},
        {"path": "a", "parse": "text", "fields": [field("mrn", "x")]},
        {"path": "a", "parse": "json", "row": {"a": 1}},
        {"path": "a", "parse": "xml"},
        {"path": "a", "encoding": "rot13"},
        {"path": "a", "encoding": "idna"},
        {"path": "a", "encoding": "a\0b"},
        {"path": "a", "count": 1, "none": True},
        {"path": "a", "row": {"a": {"matchs": "b"}}},
    ],
)
def test_expectation_that_can_only_fail_is_rejected_at_load(args: Any) -> None:
    with pytest.raises(ValidationError):
        FilePresent.model_validate(args)


@pytest.mark.parametrize("args", [{}, "", {"path": "a", "absent": "yes"}, {"path": "a", "txt": "b"}])
def test_invalid_arguments_are_rejected(args: Any) -> None:
    with pytest.raises(ValidationError):
        FilePresent.model_validate(args)


@pytest.mark.parametrize("path", ["/outbound/a.csv", "outbound//a.csv", "../a.csv", "./*"])
def test_impossible_path_is_rejected(path: str) -> None:
    with pytest.raises(ValidationError, match="a path must be relative"):
        FilePresent.model_validate({"path": path, "none": True})


@pytest.mark.parametrize(("path", "form"), [("a.csv", "csv"), ("*.HL7", "hl7"), ("a.json", "json"), ("a", "json")])
def test_format_is_derived_from_file_name(path: str, form: str) -> None:
    field = {"path": "PID.3" if form == "hl7" else "rows[0].mrn", "expected": "1"}
    assert FilePresent.model_validate({"path": path, "fields": [field]}).format == form
    assert FilePresent.model_validate({"path": path}).format is None
