"""How a question or request differs from a recorded one."""

from clerkship.recording.recorded_model import MAX_LINE_LENGTH, render_diff


def test_difference_within_a_long_line_is_shown() -> None:
    one, other = (f"same\n{'x' * 1000} {word} {'y' * 1000}\nend" for word in ("boxes", "bottles"))
    removed, added = render_diff("the request", one, other).splitlines()[5:7]
    assert "x bo" in removed
    assert "xes y" in removed
    assert "ttles y" in added
    assert (removed[:3], added[:3]) == ("-…x", "+…x")
    assert len(removed) <= MAX_LINE_LENGTH + 2
