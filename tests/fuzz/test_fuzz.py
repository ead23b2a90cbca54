"""No input breaks a target: a few examples in the ordinary run, many in `make fuzz`."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from clerkship.formats.hl7.framing import Deframer, Frame
from tests.fuzz.inputs import inputs
from tests.fuzz.message_targets import (
    ANSWERS,
    FORMS,
    WORDS_OF_FORMS,
    WORDS_OF_JSON,
    check_answer,
    check_form,
)
from tests.fuzz.targets import (
    FRAMES,
    MESSAGES,
    PATHS,
    STREAMS,
    check_frames,
    check_message,
    check_path_parsers,
    check_stream,
)
from tests.fuzz.x12_targets import INTERCHANGES, WORDS_OF_X12, check_interchanges

SLOW = timedelta(seconds=2)
"""No input may take longer."""
bounded = settings(deadline=SLOW, suppress_health_check=[HealthCheck.too_slow])


@bounded
@given(inputs(MESSAGES))
def test_any_message_is_validated_and_acknowledged(data: bytes) -> None:
    check_message(data)


@bounded
@given(inputs(STREAMS))
def test_any_stream_is_split_into_messages(data: bytes) -> None:
    check_stream(data)


@bounded
@given(inputs(FRAMES))
def test_any_bytes_are_split_into_frames(data: bytes) -> None:
    check_frames(data)


@bounded
@given(inputs(PATHS))
def test_any_path_is_parsed_or_refused(data: bytes) -> None:
    check_path_parsers(data)


@bounded
@given(inputs(INTERCHANGES, WORDS_OF_X12, b"~"))
def test_any_interchange_is_parsed_and_acknowledged(data: bytes) -> None:
    check_interchanges(data)


@bounded
@given(inputs(ANSWERS, WORDS_OF_JSON, b","))
def test_any_answer_of_a_cds_service_is_judged(data: bytes) -> None:
    check_answer(data)


@bounded
@given(inputs(FORMS, WORDS_OF_FORMS, b"&"))
def test_any_form_gets_a_message_or_an_error_of_twilio(data: bytes) -> None:
    check_form(data)


@pytest.mark.parametrize(
    "target",
    [
        (check_message, MESSAGES),
        (check_stream, STREAMS),
        (check_frames, FRAMES),
        (check_path_parsers, PATHS),
        (check_interchanges, INTERCHANGES),
        (check_answer, ANSWERS),
        (check_form, FORMS),
    ],
)
def test_seeds_pass_every_target(target: tuple[Callable[[bytes], None], list[bytes]]) -> None:
    run, seeds = target
    for seed in seeds:
        run(seed)


def _segments(data: bytes) -> list[bytes]:
    return [line[:3] for line in data.split(b"\r") if line]


PLANTED: dict[str, tuple[list[bytes], Callable[[bytes], bool]]] = {
    "a frame within a frame": (
        FRAMES,
        lambda data: data.startswith(b"\x0b") and b"\x0b" in data[1:].partition(b"\x1c")[0],
    ),
    "a byte that is not ASCII in one segment": (
        MESSAGES,
        lambda data: any(line.startswith(b"PID|") and max(line) > 0x7F for line in data.split(b"\r")),
    ),
    "segments in the wrong order": (
        MESSAGES[:2],
        lambda data: (
            {b"OBX", b"PID"} <= {*_segments(data)} and _segments(data).index(b"OBX") < _segments(data).index(b"PID")
        ),
    ),
    "a part of another message": (MESSAGES[2:4], lambda data: b"ADT^A01" in data and b"MRG|" in data),
    "one byte many times": (STREAMS, lambda data: any(bytes([byte]) * 15 in data for byte in {*data})),
}
QUICK = settings(max_examples=3000, derandomize=True, database=None, phases=[Phase.generate])


@pytest.mark.parametrize("name", PLANTED)
def test_planted_bug_is_found(name: str) -> None:
    seeds, broken = PLANTED[name]
    assert broken(find(inputs(seeds), broken, settings=QUICK))


class Forgetful(Deframer):
    """A deframer with a bug: it forgets an open frame if the start block arrives alone."""

    def feed(self, data: bytes) -> list[Frame]:
        """Feed everything but a lone start block."""
        return super().feed(data) if data != b"\x0b" else []


def test_planted_bug_is_found_by_invariant_and_minimized() -> None:
    def breaks(data: bytes) -> bool:
        try:
            check_frames(data, Forgetful)
        except AssertionError:
            return True
        return False

    assert find(inputs([b""]), breaks, settings=settings(QUICK, phases=[Phase.generate, Phase.shrink])) == b"|\x0b"
