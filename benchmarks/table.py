"""The tables that benchmarks print, as Markdown."""

from collections.abc import Iterable, Iterator, Sequence


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, each row as soon as it is measured."""
    for line in _lines(head, rows):
        print(line, flush=True)


def render_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as text. Cells that a row does not have are empty."""
    return "\n".join(_lines(head, rows))


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _line(head)
    yield "|" + "---|" * len(head)
    for row in rows:
        yield _line([*row, *[""] * (len(head) - len(row))])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def times(ratio: float | None) -> str:
    """Return a ratio as text."""
    return "" if ratio is None else f"{ratio:.2f}×" if ratio < 10 else f"{ratio:,.0f}×"


def seconds(value: float) -> str:
    """Return seconds as text, short times in milliseconds."""
    return f"{value * 1000:.1f} ms" if value < 0.1 else f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
