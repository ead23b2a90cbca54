"""node-x12 and the project read the same segments and elements from the same text."""

import pytest

from clerkship.formats.x12.interchange import parse_interchanges
from tests.clients.x12_judges.judges import node_x12_segments
from tests.clients.x12_judges.messages import BODIES, interchange, valid_message

SEPARATORS = {
    "usual": "*^:~",
    "of another sender": "|{>!",
    "line break as terminator": "*^:\n",
}


def with_separators(text: str, separators: str) -> str:
    """Return an interchange with other separators of elements, repetitions, components and segments."""
    return text.translate(dict(zip(map(ord, "*^:~"), separators, strict=True)))


@pytest.mark.parametrize("line_break", ["", "\n", "\r\n"])
def test_node_x12_reads_the_same_sets(line_break: str) -> None:
    texts = [
        with_separators(interchange(valid_message(name)), separators).replace("~", f"~{line_break}")
        for name in BODIES
        for separators in SEPARATORS.values()
    ]
    ours = [
        [segment.elements for group in each.groups for set in group.sets for segment in set.segments]
        for text in texts
        for each in parse_interchanges(text)
    ]
    # Without ISA, GS, GE and IEA, in which node-x12 strips zeros from control numbers.
    assert [segments[2:-2] for segments in node_x12_segments(texts)] == ours
