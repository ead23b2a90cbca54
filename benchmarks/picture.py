"""Draw growth curves as one SVG: small panels whose axes start at zero."""

from dataclasses import dataclass
from html import escape

PANEL_WIDTH, PANEL_HEIGHT, COLUMNS = 300, 200, 3
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 44, 36


@dataclass(frozen=True)
class Curve:
    """A curve with its title and axes."""

    title: str
    across: str
    up: str
    points: dict[int, float]


def draw(curves: list[Curve]) -> str:
    """Return the SVG, with three panels in a row."""
    rows = -(-len(curves) // COLUMNS)
    width, height = COLUMNS * PANEL_WIDTH, rows * PANEL_HEIGHT
    panels = "\n".join(_placed(index, curve) for index, curve in enumerate(curves))
    style = (
        "text{font:11px system-ui,sans-serif;fill:#334}.t{font-weight:600;font-size:12px}.q{fill:#667}"
        "path{fill:none;stroke:#2563a8;stroke-width:2}circle{fill:#2563a8}line{stroke:#ccd}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="Growth curves"><style>{style}</style>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n{panels}\n</svg>\n'
    )


def _placed(index: int, curve: Curve) -> str:
    left, top = index % COLUMNS * PANEL_WIDTH, index // COLUMNS * PANEL_HEIGHT
    return f'<g transform="translate({left} {top})">{_panel(curve)}</g>'


def _panel(curve: Curve) -> str:
    right, most_up = max(curve.points), max(curve.points.values()) * 1.25
    wide, high = PANEL_WIDTH - LEFT - RIGHT, PANEL_HEIGHT - TOP - BOTTOM
    places = {
        (x, y): (LEFT + x / right * wide, TOP + high - (y / most_up if most_up else 0) * high)
        for x, y in sorted(curve.points.items())
    }
    path = " ".join(f"{'ML'[index > 0]}{left:.1f} {top:.1f}" for index, (left, top) in enumerate(places.values()))
    dots = "".join(f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3"/>' for left, top in places.values())
    floor = TOP + high
    last_up, (last_left, last_top) = list(places)[-1][1], list(places.values())[-1]
    return (
        f'<text class="t" x="{LEFT}" y="18">{escape(curve.title)}</text>'
        f'<text class="q" x="{LEFT}" y="33">{escape(curve.up)}</text>'
        f'<line x1="{LEFT}" y1="{floor}" x2="{LEFT + wide}" y2="{floor}"/>'
        f'<line x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{floor}"/>'
        f'<text class="q" x="{LEFT - 6}" y="{floor + 4}" text-anchor="end">0</text>'
        f'<text class="q" x="{LEFT - 6}" y="{TOP + 8}" text-anchor="end">{_short(most_up)}</text>'
        f'<text class="q" x="{LEFT + wide}" y="{floor + 16}" text-anchor="end">{right:,} {escape(curve.across)}</text>'
        f'<path d="{path}"/>{dots}'
        f'<text x="{last_left:.1f}" y="{last_top - 8:.1f}" text-anchor="end">{_short(last_up)}</text>'
    )


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
