"""Tests of MLLP framing with bytes in any chunks."""

import time

import pytest

from clerkship.formats.hl7.framing import MAX_TRUNCATED_BYTES, Deframer, Frame, frame_message


def test_frame_round_trips() -> None:
    assert frame_message(b"MSH|x\r") == b"\x0bMSH|x\r\x1c\r"
    assert Deframer(100).feed(frame_message(b"MSH|x\r")) == [Frame(b"MSH|x\r")]


def test_framing_bytes_inside_message_are_replaced() -> None:
    assert Deframer(100).feed(frame_message(b"a\x1cb\x0bc")) == [Frame(b"a b c")]


def test_frames_are_found_in_any_chunking() -> None:
    data = b"".join(frame_message(b"m%d" % number) for number in range(50))
    expected = [Frame(b"m%d" % number) for number in range(50)]
    assert Deframer(100).feed(data) == expected
    slowly = Deframer(100)
    assert [frames for at in range(len(data)) for frames in slowly.feed(data[at : at + 1])] == expected
    assert slowly.ignored_bytes == 0


def test_final_carriage_return_may_be_missing() -> None:
    deframer = Deframer(100)
    assert deframer.feed(b"\x0bone\x1c") == [Frame(b"one")]
    assert deframer.feed(b"\x0btwo\x1c\x0bthree\x1c\r") == [Frame(b"two"), Frame(b"three")]
    assert deframer.ignored_bytes == 0


def test_bytes_outside_frames_are_counted() -> None:
    deframer = Deframer(100)
    assert deframer.feed(b"GET / HTTP/1.1\r\n\x1c\x0bone\x1c\r\r\n\x0btwo\x1c\r") == [Frame(b"one"), Frame(b"two")]
    assert deframer.ignored_bytes == 17 + 2


def test_restarted_frame_reports_first_as_unfinished() -> None:
    deframer = Deframer(100)
    assert deframer.feed(b"\x0bone and\x0btwo\x1c\r") == [Frame(b"one and", "unfinished"), Frame(b"two")]


def test_is_open_between_start_and_end() -> None:
    deframer = Deframer(100)
    assert not deframer.is_open
    deframer.feed(b"\x0bone")
    assert deframer.is_open
    deframer.feed(b"\x1c")
    assert not deframer.is_open


@pytest.mark.parametrize("piece", [1, 1000, 10_000_000])
def test_oversized_frame_is_truncated_and_next_one_parsed(piece: int) -> None:
    deframer = Deframer(200_000)
    data = frame_message(b"x" * 300_000) + frame_message(b"y" * 200_000) + frame_message(b"z")
    frames = [each for at in range(0, len(data), piece) for each in deframer.feed(data[at : at + piece])]
    assert frames == [
        Frame(b"x" * MAX_TRUNCATED_BYTES, "too_large", 300_000 - MAX_TRUNCATED_BYTES),
        Frame(b"y" * 200_000),
        Frame(b"z"),
    ]
    assert [each.size for each in frames] == [300_000, 200_000, 1]


def test_limit_below_truncation_size() -> None:
    assert Deframer(3).feed(frame_message(b"abcd")) == [Frame(b"abc", "too_large", 1)]


def test_limit_may_depend_on_start_of_frame() -> None:
    starts: list[bytes] = []

    def limit_of(begun: bytes) -> int:
        starts.append(begun[:1])
        return 50 if begun.startswith(b"b") else 0

    deframer = Deframer(10, limit_of)
    data = b"".join(frame_message(sign * size) for sign, size in ((b"a", 10), (b"a", 11), (b"b", 50), (b"b", 51)))
    frames = [each for at in range(len(data)) for each in deframer.feed(data[at : at + 1])]
    assert [(each.data[:1], each.size, each.flaw) for each in frames] == [
        (b"a", 10, None),
        (b"a", 11, "too_large"),
        (b"b", 50, None),
        (b"b", 51, "too_large"),
    ]
    assert starts == [b"a", b"b", b"b"]  # called once for each long frame


def test_finish_returns_unfinished_frame() -> None:
    deframer = Deframer(100)
    assert deframer.finish() is None
    deframer.feed(b"\x0bone\x1c\r\x0btwo")
    assert deframer.finish() == Frame(b"two", "unfinished")
    assert deframer.finish() is None


@pytest.mark.slow
def test_feeding_single_bytes_takes_linear_time() -> None:
    def spent(size: int) -> float:
        deframer, started = Deframer(size), time.process_time()
        deframer.feed(b"\x0b")
        for _ in range(size):
            deframer.feed(b"x")
        assert len(deframer.feed(b"\x1c\r")[0].data) == size
        return time.process_time() - started

    small, large = spent(200_000), spent(2_000_000)
    assert large < 30 * small  # linear would be 10, quadratic 100
