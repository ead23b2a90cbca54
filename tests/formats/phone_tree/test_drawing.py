"""Drawings of phone trees, as text and as SVG."""

from xml.etree import ElementTree

import pytest

from clerkship.formats.phone_tree.drawing import DEFAULT_WIDTH, draw_text, walk_tree
from clerkship.formats.phone_tree.shipped import list_trees, load_tree
from clerkship.formats.phone_tree.svg_drawing import BOX_WIDTH, draw_svg
from clerkship.formats.phone_tree.tree import IvrTree

SVG = "{http://www.w3.org/2000/svg}"
TREE = IvrTree.model_validate(
    {
        "name": "Small <line>",
        "start": "menu",
        "nodes": {
            "menu": {
                "type": "menu",
                "prompt": "For claims, press 1. To hear this again & again, press 2.",
                "failed": "bye",
                "choices": [
                    {"key": "1", "speech": ["claims"], "next": "member"},
                    {"key": "2", "next": "menu"},
                    {"speech": ["goodbye"], "next": "bye"},
                ],
            },
            "member": {"type": "collect", "prompt": "The member ID?", "variable": "member_id", "next": "lookup"},
            "lookup": {
                "type": "hook",
                "hook": "payer.find_member",
                "outcomes": {"found": "bye", "not_found": "member"},
                "max_visits": 2,
                "exhausted": "bye",
            },
            "bye": {"type": "end"},
        },
    }
)
EXPECTED = """\
Small <line>, version 1: 4 nodes (↺ leads back)

menu  [menu]
│ For claims, press 1. To hear this again & again, press 2.
├ 1 claims         → member
├ 2                → menu ↺
├ - goodbye        → bye
└ after 3 attempts → bye

member  [collect digits]
│ The member ID?
└ member_id → lookup

lookup  [hook payer.find_member]
├ found          → bye
├ not_found      → member ↺
└ after 2 visits → bye

bye  [end]
│ Goodbye."""


def test_text_shows_nodes_keys_and_loops() -> None:
    assert "\n".join(line.text for line in draw_text(TREE)) == EXPECTED


@pytest.mark.parametrize("name", list_trees())
@pytest.mark.parametrize("width", [60, DEFAULT_WIDTH])
def test_text_of_shipped_trees_fits_the_width(name: str, width: int) -> None:
    lines = [line.text for line in draw_text(load_tree(name), width)]
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("name", list_trees())
def test_text_shows_each_node_once(name: str) -> None:
    tree = load_tree(name)
    shown = [line.text.split()[0] for line in draw_text(tree) if line.style == "node"]
    assert sorted(shown) == sorted(tree.nodes)


def test_loops_are_ways_to_a_node_on_the_way() -> None:
    assert walk_tree(TREE).loops == {("menu", "menu"), ("lookup", "member")}


@pytest.mark.parametrize("tree", [TREE, *map(load_tree, list_trees())], ids=lambda tree: tree.name)
def test_svg_has_a_box_for_each_node_and_boxes_do_not_overlap(tree: IvrTree) -> None:
    root = ElementTree.fromstring(draw_svg(tree))
    groups = {group.get("id"): group for group in root.iter(f"{SVG}g")}
    assert set(groups) == {f"node-{name}" for name in tree.nodes}
    places = []
    for group in groups.values():
        box = group.find(f"{SVG}rect")
        assert box is not None
        places.append((float(box.get("x", "")), float(box.get("y", "")), float(box.get("height", ""))))
    for x, y, height in places:
        assert (
            sum(x == other_x and y < other_y + other and other_y < y + height for other_x, other_y, other in places)
            == 1
        )


def test_svg_has_an_arrow_to_each_node_but_the_start_and_links_for_other_ways() -> None:
    root = ElementTree.fromstring(draw_svg(TREE))
    assert len([path for path in root.iter(f"{SVG}path") if path.get("class") == "arrow"]) == 3
    links = [(link.get("href"), "".join(link.itertext())) for link in root.iter(f"{SVG}a")]
    assert ("#node-member", "not_found ↺ member") in links
    assert ("#node-menu", "2 ↺ menu") in links


def test_svg_escapes_the_text_of_authors() -> None:
    svg = draw_svg(TREE)
    assert "Small &lt;line&gt;" in svg
    assert "again &amp; again" in svg


def test_boxes_are_inside_the_picture() -> None:
    root = ElementTree.fromstring(draw_svg(load_tree("provider_line")))
    width = float(root.get("width", ""))
    assert all(float(box.get("x", "0")) + BOX_WIDTH <= width for box in root.iter(f"{SVG}rect") if box.get("rx"))


def test_tree_of_500_nodes_in_a_row_is_drawn() -> None:
    nodes: dict[str, object] = {
        f"n{index}": {"type": "say", "prompt": "x", "next": f"n{index + 1}"} for index in range(499)
    }
    tree = IvrTree.model_validate({"name": "Row", "start": "n0", "nodes": {**nodes, "n499": {"type": "end"}}})
    assert draw_svg(tree).count('class="arrow"') == 499
    assert len(walk_tree(tree).order) == 500
