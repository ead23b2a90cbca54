"""Tests of several messages in one text, with and without headers and trailers."""

import pytest

from clerkship.formats.hl7.batch import MessageBatch, split_messages


def message(number: int) -> str:
    return f"MSH|^~\\&|A|B|C|D|20260302||ADT^A01|{number}|P|2.5\rPID|{number}\r"


FHS = "FHS|^~\\&|A|B|C|D|20260302||f.hl7||F7\r"
BHS = "BHS|^~\\&|A|B|C|D|20260302||||B8\r"
WHOLE = f"{FHS}{BHS}{message(1)}{message(2)}BTS|2\rFTS|1\r"


def list_flaws(text: str | bytes) -> list[str]:
    return [f"{flaw.code} {flaw.segment} {flaw.text}" for flaw in split_messages(text).flaws]


def test_single_message_is_split() -> None:
    assert split_messages(message(1)) == MessageBatch(messages=[message(1)])
    assert not split_messages(message(1)).headers


def test_several_messages_are_split() -> None:
    assert split_messages(message(1) + message(2) + message(3)).messages == [message(1), message(2), message(3)]


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "\n\n", "\r\n \t\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\n\n  "])
def test_line_ends_and_blank_lines_are_accepted(start: str, end: str) -> None:
    text = start + (message(1) + message(2)).replace("\r", end)
    assert split_messages(text).messages == [message(1), message(2)]
    assert split_messages(text.encode()).messages == [message(1), message(2)]
    assert list_flaws(text) == []


def test_file_of_batches_is_split() -> None:
    batch = split_messages(WHOLE)
    assert batch.messages == [message(1), message(2)]
    assert batch.flaws == []
    assert batch.headers
    assert batch.control_ids == ["F7", "B8"]
    assert [segment.name for segment in batch.headers + batch.trailers] == ["FHS", "BHS", "BTS", "FTS"]


@pytest.mark.parametrize(
    "text",
    [
        f"{BHS}{message(1)}BTS|1\r",
        f"{BHS}BTS|0\r",
        f"{FHS}FTS|0\r",
        f"{FHS}{message(1)}{message(2)}FTS|1\r",  # BHS and BTS may be missing
        f"{FHS}{message(1)}{message(2)}FTS|0\r",
        f"{FHS}{message(1)}FTS\r",
        f"{FHS}{BHS}{message(1)}BTS\r{BHS}{message(2)}BTS|1||\rFTS|2\r",
    ],
)
def test_valid_files_have_no_flaws(text: str) -> None:
    assert list_flaws(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WHOLE.replace("BTS|2", "BTS|3"), ["102 BTS BTS-1 says 3, but there are 2 messages in the batch"]),
        (WHOLE.replace("FTS|1", "FTS|2"), ["102 FTS FTS-1 says 2, but there is 1 batch in the file"]),
        (f"{FHS}{message(1)}{message(2)}FTS|2\r", ["102 FTS FTS-1 says 2, but there is 1 batch in the file"]),
        (f"{FHS}FTS|1\r", ["102 FTS FTS-1 says 1, but there are 0 batches in the file"]),
        (WHOLE.replace("FTS|1", "FTS|0"), ["102 FTS FTS-1 says 0, but there is 1 batch in the file"]),
        (WHOLE.replace("BTS|2", "BTS|two"), ["102 BTS BTS-1 must be a number, not 'two'"]),
        (WHOLE.replace("BTS|2", "BTS|" + "9" * 5000), [f"102 BTS BTS-1 must be a number, not '{'9' * 60}'"]),
        (WHOLE.replace("BTS|2\r", ""), ["100 BTS BHS without BTS"]),
        (WHOLE.replace("FTS|1\r", ""), ["100 FTS FHS without FTS"]),
        (f"{BHS}{message(1)}", ["100 BTS BHS without BTS"]),
        (f"{BHS}{BHS}{message(1)}BTS|1\r", ["100 BTS BHS without BTS"]),
        (f"{message(1)}BTS|1\r", ["100 BTS BTS without BHS"]),
        (f"{message(1)}FTS\r", ["100 FTS FTS without FHS"]),
        (f"{message(1)}{FHS}FTS\r", ["100 FHS FHS may only be the first segment"]),
        (f"{message(1)}{BHS}{message(2)}BTS|1\r", ["100 BHS BHS follows messages that are in no batch"]),
        (f"{WHOLE}{message(3)}", ["100 MSH a message follows FTS, the end of the file"]),
        (f"{BHS}{message(1)}BTS|1\r{message(2)}", ["100 MSH a message follows BTS, outside any batch"]),
        (f"hello\rworld\r{message(1)}", ["100 hel 'hello' does not belong to a message: a message starts with MSH"]),
        (
            f"{BHS}{message(1)}BTS|1\rand so on",
            ["100 and 'and so on' does not belong to a message: a message starts with MSH"],
        ),
        ("BHS\rBTS\r", ["102 BHS BHS-1 and BHS-2 are not valid delimiters: 'BHS'"]),
    ],
)
def test_flaws_outside_messages_are_reported(text: str, expected: list[str]) -> None:
    assert list_flaws(text) == expected


def test_text_without_message_gives_empty_list() -> None:
    assert split_messages("").messages == split_messages(b"").messages == split_messages("  \r\n").messages == []
    assert split_messages(b"\x00\xff\xfe").messages == []
    assert list_flaws("") == []


def test_invalid_line_stays_with_its_message() -> None:
    assert split_messages(f"{message(1)}and so on\r").messages == [f"{message(1)}and so on\r"]


def test_each_message_is_decoded_by_its_own_charset() -> None:
    latin = "MSH|^~\\&|A|B|C|D|1||ADT^A01|1|P|2.5||||||8859/1\rPID|1||||Müller\r"
    wide = "MSH|^~\\&|A|B|C|D|1||ADT^A01|2|P|2.5||||||UNICODE UTF-8\rPID|1||||Müller\r"
    assert split_messages(latin.encode("latin-1") + wide.encode()).messages == [latin, wide]
    assert split_messages((latin + wide).encode("utf-16")).messages == [latin, wide]


def test_mllp_framing_bytes_in_file_are_ignored() -> None:
    framed = f"\x0b{message(1)}\x1c\r\x0b{message(2)}\x1c\r"
    assert split_messages(framed).messages == [message(1), message(2)]
    assert list_flaws(framed) == []


def test_byte_order_marks_in_concatenated_files_are_ignored() -> None:
    assert split_messages((f"\ufeff{message(1)}" * 2).encode()).messages == [message(1)] * 2
    assert split_messages(f"\ufeff{message(1)}" * 2).messages == [message(1)] * 2


def test_bytes_and_text_are_split_equally() -> None:
    odd = f"{message(1)}MSH\u202eno\r"
    assert split_messages(odd).messages == split_messages(odd.encode()).messages == [odd]
