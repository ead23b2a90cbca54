"""What is written is parsed to the same, whatever the values and separators; truncation is always noticed."""

from datetime import datetime
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from clerkship.formats.x12.charset import EXTENDED_CHARACTERS, clean_value, outside_pattern
from clerkship.formats.x12.interchange import parse_interchanges
from clerkship.formats.x12.segment import X12Delimiters
from clerkship.formats.x12.writer import (
    OutgoingEnvelope,
    OutgoingGroup,
    SetWriter,
    X12Element,
    decode_elements,
    render_interchange,
)

NOW = datetime(2026, 11, 15, 9, 0)
SEPARATORS = "*|^:~!>+'/.-@#\x07\t\x1c\x1d\x1e\x1f"
TERMINATORS = st.sampled_from([*SEPARATORS, "\n", "\r"])
DELIMITERS = st.builds(X12Delimiters, *[st.sampled_from(SEPARATORS)] * 3, TERMINATORS).filter(
    lambda delimiters: len({*delimiters}) == 4
)
SEGMENT_IDS = st.sampled_from(["HL", "NM1", "EB", "ISX", "IE", "SX", "GSX", "TA", "ZZZ", "A1", "S2E"])
ANY_TEXT = st.text(max_size=12) | st.text(st.sampled_from(f"AIESGST01{SEPARATORS}\r\né "), max_size=12)
LINE_BREAKS = st.sampled_from(["", "\n", "\r\n"])


class Written(NamedTuple):
    """A set to be written: the id and elements of each segment."""

    segments: list[tuple[str, list[X12Element]]]


def elements(values: st.SearchStrategy[str]) -> st.SearchStrategy[X12Element]:
    """Return values, composites and repetitions."""
    composites = st.lists(values, min_size=2, max_size=3).map(tuple)
    return values | composites | st.lists(values | composites, min_size=2, max_size=3)


def written_sets(values: st.SearchStrategy[str]) -> st.SearchStrategy[list[Written]]:
    """Return the sets of a group."""
    segments = st.tuples(SEGMENT_IDS, st.lists(elements(values), max_size=4))
    return st.lists(st.builds(Written, st.lists(segments, max_size=5)), min_size=1, max_size=3)


def render(
    sets: list[Written], delimiters: X12Delimiters, line_break: str = "", parties: tuple[str, str] = ("A", "B")
) -> str:
    """Write an interchange with one group."""
    written = []
    for number, each in enumerate(sets, 1):
        writer = SetWriter("270", f"{number:04}", "V1", delimiters=delimiters)
        for id, values in each.segments:
            writer.add(id, *values)
        written.append(writer.build())
    envelope = OutgoingEnvelope(*parties, 7, NOW, delimiters=delimiters, line_break=line_break)
    return render_interchange(envelope, [OutgoingGroup(3, "V1", written)])


@st.composite
def clean_messages(draw: st.DrawFn) -> tuple[X12Delimiters, list[Written]]:
    """Return separators, and sets whose values need no cleaning and have no empty parts."""
    delimiters = draw(DELIMITERS)
    characters = "".join(character for character in EXTENDED_CHARACTERS if character not in delimiters)
    values = st.text(characters, min_size=1, max_size=12).map(str.strip).filter(bool)
    return delimiters, draw(written_sets(values))


@given(message=clean_messages(), line_break=LINE_BREAKS)
def test_written_values_are_parsed_to_the_same(message: tuple[X12Delimiters, list[Written]], line_break: str) -> None:
    delimiters, sets = message
    (parsed,) = parse_interchanges(render(sets, delimiters, line_break))
    assert parsed.problems == parsed.groups[0].problems == []
    assert parsed.delimiters == delimiters
    for transaction, each in zip(parsed.sets, sets, strict=True):
        assert transaction.problems == []
        body = transaction.segments[1:-1]
        assert [(segment.id, decode_elements(segment)) for segment in body] == each.segments


@given(
    sets=written_sets(ANY_TEXT),
    delimiters=DELIMITERS,
    line_break=LINE_BREAKS,
    parties=st.tuples(ANY_TEXT, ANY_TEXT),
)
def test_no_value_breaks_an_interchange(
    sets: list[Written], delimiters: X12Delimiters, line_break: str, parties: tuple[str, str]
) -> None:
    text = render(sets, delimiters, line_break, ("S" + parties[0], "R" + parties[1]))
    (parsed,) = parse_interchanges(text.encode())
    assert parsed.problems == parsed.groups[0].problems == []
    assert [[segment.id for segment in each.segments[1:-1]] for each in parsed.sets] == [
        [id for id, _ in each.segments] for each in sets
    ]
    outside = outside_pattern(delimiters, "extended")
    assert not any(each.problems or outside.search(each.render()) for each in parsed.sets)
    assert parsed.render(line_break) == text


@given(value=st.text() | ANY_TEXT, delimiters=DELIMITERS)
def test_cleaning_a_clean_value_changes_nothing(value: str, delimiters: X12Delimiters) -> None:
    for charset in ("extended", "basic"):
        cleaned = clean_value(value, delimiters, charset)
        assert clean_value(cleaned, delimiters, charset) == cleaned
        assert not {*cleaned} & {*delimiters}


@given(message=clean_messages(), cut=st.integers(min_value=1), line_break=LINE_BREAKS)
def test_truncated_interchange_is_never_accepted(
    message: tuple[X12Delimiters, list[Written]], cut: int, line_break: str
) -> None:
    delimiters, sets = message
    text = render(sets, delimiters, line_break)
    whole = text.rstrip("\r\n")
    length = 106 + cut % (len(whole) - 106)
    (parsed,) = parse_interchanges(whole[:length])
    assert parsed.problems[0].code in ("023", "001"), parsed.problems
    if delimiters.segment not in "\r\n":
        assert parsed.problems[0].code == "023"


@given(first=clean_messages(), second=clean_messages(), line_break=LINE_BREAKS)
def test_interchanges_in_sequence_are_parsed_each_by_itself(
    first: tuple[X12Delimiters, list[Written]], second: tuple[X12Delimiters, list[Written]], line_break: str
) -> None:
    texts = [render(sets, delimiters, line_break) for delimiters, sets in (first, second)]
    parsed = parse_interchanges("\n".join(texts))
    assert [each.problems for each in parsed] == [[], []]
    assert [each.render(line_break) for each in parsed] == texts
