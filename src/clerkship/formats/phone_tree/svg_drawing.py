"""A phone tree as SVG: boxes from left to right in the order of a call, and arrows between them.

An arrow leads to each box once, on the shortest way from the start. Other ways to it are named in the box that they
leave, as links, because arrows to nodes that many others lead to would cover the drawing.
"""

import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from clerkship.formats.phone_tree.drawing import (
    LOOP_SIGN,
    describe_node,
    describe_prompt,
    shorten,
    walk_tree,
)
from clerkship.formats.phone_tree.nodes import IvrNode
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.formats.phone_tree.tree_graph import NodeTarget, list_targets

BOX_WIDTH = 296
COLUMN_GAP = 70
ROW_GAP = 22
MARGIN = 24
TITLE_HEIGHT = 46
LINE_HEIGHT = 15
PADDING = 9
MAX_CHARACTERS = 43
"""Characters of one line of a box."""
MAX_PROMPT_LINES = 3
_COLORS = {
    "say": "#e8eef7",
    "menu": "#dcebff",
    "collect": "#fff1d6",
    "hook": "#e9e3f7",
    "branch": "#e9e3f7",
    "hours": "#e9e3f7",
    "queue": "#ffe6dc",
    "transfer": "#d9f2e1",
    "voicemail": "#d9f2e1",
    "end": "#e6e6e6",
}
_STYLE = (
    "text{font-family:system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:11.5px;fill:#1c2733}"
    ".title{font-size:18px;font-weight:600}.name{font-weight:600;font-size:12.5px}.type{fill:#51606f}"
    ".prompt{fill:#51606f;font-style:italic}.link{fill:#1257a8}.box{stroke:#8795a5;stroke-width:1}"
    ".start{stroke:#1257a8;stroke-width:2.5}.arrow{fill:none;stroke:#51606f;stroke-width:1.3}"
)


@dataclass(slots=True)
class NodeBox:
    """A node in the drawing."""

    name: str
    node: IvrNode
    prompt: list[str]
    exits: Sequence[NodeTarget]
    children: list["NodeBox"] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    @property
    def height(self) -> float:
        """The height of the box: its name, its type, its prompt and a row for each way out."""
        return 2 * PADDING + LINE_HEIGHT * (2 + len(self.prompt) + len(self.exits))

    def row_y(self, index: int) -> float:
        """Return the middle of the row of a way out."""
        return self.y + PADDING + LINE_HEIGHT * (2 + len(self.prompt) + index + 0.5)


def draw_svg(tree: IvrTree) -> str:
    """Return a phone tree as an SVG document."""
    roots = _build_boxes(tree)
    boxes = _place_boxes(roots)
    width = max(box.x for box in boxes) + BOX_WIDTH + MARGIN
    height = max(box.y + box.height for box in boxes) + MARGIN
    return "\n".join(_write_document(tree, boxes, width, height)) + "\n"


def _build_boxes(tree: IvrTree) -> list[NodeBox]:
    """Return the boxes as trees: each box below the first one that leads to it, by the number of steps."""
    boxes = {name: _build_box(name, node) for name, node in tree.nodes.items()}
    placed: set[str] = set()
    roots: list[NodeBox] = []
    for start in walk_tree(tree).order:
        if start in placed:
            continue
        placed.add(start)
        roots.append(boxes[start])
        queue = [boxes[start]]
        for box in queue:
            for way in box.exits:
                if way.node in boxes and way.node not in placed:
                    placed.add(way.node)
                    box.children.append(boxes[way.node])
                    queue.append(boxes[way.node])
    return roots


def _build_box(name: str, node: IvrNode) -> NodeBox:
    prompt = describe_prompt(node)
    lines = textwrap.wrap(f"“{prompt}”", MAX_CHARACTERS, max_lines=MAX_PROMPT_LINES, placeholder="…") if prompt else []
    return NodeBox(name, node, lines, list_targets(node))


def _place_boxes(roots: Sequence[NodeBox]) -> list[NodeBox]:
    """Place each box beside the one that leads to it, or lower if others are there; return all boxes."""
    boxes: list[NodeBox] = []
    free: dict[int, float] = {}
    for root in roots:
        stack = [(root, 0, float(MARGIN + TITLE_HEIGHT))]
        while stack:
            box, column, top = stack.pop()
            box.x = MARGIN + column * (BOX_WIDTH + COLUMN_GAP)
            box.y = max(top, free.get(column, 0.0))
            free[column] = box.y + box.height + ROW_GAP
            boxes.append(box)
            stack += [(child, column + 1, box.y) for child in reversed(box.children)]
    return boxes


def _write_document(tree: IvrTree, boxes: Sequence[NodeBox], width: float, height: float) -> Iterator[str]:
    title = f"{tree.name}, version {tree.version}"
    loops = walk_tree(tree).loops
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label={quoteattr(title)}>'
    )
    yield f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    yield (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#51606f"/></marker></defs>'
    )
    yield f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>'
    yield f'<text class="title" x="{MARGIN}" y="{MARGIN + 16}">{escape(title)}</text>'
    for box in boxes:
        yield from _write_arrows(box)
    for box in boxes:
        yield from _write_box(box, loops, is_start=box.name == tree.start)
    yield "</svg>"


def _write_arrows(box: NodeBox) -> Iterator[str]:
    """Yield an arrow to each box that is placed beside this one, from the first way that leads there."""
    targets = [way.node for way in box.exits]
    right = box.x + BOX_WIDTH
    for child in box.children:
        start, end = box.row_y(targets.index(child.name)), child.y + PADDING + LINE_HEIGHT * 0.6
        middle = right + COLUMN_GAP / 2
        curve = f"M{right:g},{start:g} C{middle:g},{start:g} {middle:g},{end:g} {child.x - 1:g},{end:g}"
        yield f'<path class="arrow" d="{curve}" marker-end="url(#tip)"/>'


def _write_box(box: NodeBox, loops: Collection[tuple[str, str]], *, is_start: bool) -> Iterator[str]:
    color = _COLORS[box.node.type]
    style = "box start" if is_start else "box"
    yield f'<g id="node-{box.name}"><title>{escape(f"{box.name}: {describe_prompt(box.node)}")}</title>'
    yield (
        f'<rect class="{style}" x="{box.x:g}" y="{box.y:g}" width="{BOX_WIDTH}" height="{box.height:g}" rx="6" '
        f'fill="{color}"/>'
    )
    yield _write_line(box, 0, "name", shorten(box.name, MAX_CHARACTERS))
    yield _write_line(box, 1, "type", shorten(describe_node(box.node), MAX_CHARACTERS))
    for index, line in enumerate(box.prompt):
        yield _write_line(box, 2 + index, "prompt", line)
    drawn = {child.name for child in box.children}
    for index, way in enumerate(box.exits):
        place = 2 + len(box.prompt) + index
        if way.node in drawn:
            drawn.remove(way.node)
            yield _write_line(box, place, "way", shorten(way.label or "next", MAX_CHARACTERS))
        else:
            sign = LOOP_SIGN if (box.name, way.node) in loops else "→"
            label = shorten(way.label, max(MAX_CHARACTERS - len(way.node) - 3, 6))
            text = f"{label} {sign} {way.node}".strip()
            yield f'<a href="#node-{way.node}">{_write_line(box, place, "link", text)}</a>'
    yield "</g>"


def _write_line(box: NodeBox, index: int, style: str, text: str) -> str:
    y = box.y + PADDING + LINE_HEIGHT * (index + 0.8)
    return f'<text class="{style}" x="{box.x + PADDING:g}" y="{y:g}">{escape(text)}</text>'
