"""Prints the phone calls of a trial: far end and agent side by side, with times, keys and holds."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clerkship.report.call_moments import CallMoment, ShownCall, ShownVoicemail, describe_ending, format_seconds
from clerkship.report.call_strip import find_repeated_announcements
from clerkship.report.calls import read_calls
from clerkship.report.plain_text import to_one_line
from clerkship.service.task_view import TaskView

MAX_CALLS = 10
"""Calls of one trial that are printed."""
MAX_ROWS = 150
"""Rows of one call."""
MAX_VOICEMAILS = 20
MAX_TEXT = 400
"""Characters of one speech."""
MAX_WIDTH = 110
"""Columns of a terminal that a call takes."""
INDENT = 2
Row = tuple[str, str, str]
"""Time, far end and agent, with markup."""


def print_calls(console: Console, view: TaskView) -> None:
    """Print the calls and voicemails of a trial."""
    calls, voicemails = read_calls(view.call_events)
    for call in calls[:MAX_CALLS]:
        _print_call(console, call, view.phone_names.get(call.number, ""))
    _print_left_out(console, len(calls) - MAX_CALLS, "call")
    for voicemail in voicemails[:MAX_VOICEMAILS]:
        _print_voicemail(console, voicemail)
    _print_left_out(console, len(voicemails) - MAX_VOICEMAILS, "voicemail")


def _print_call(console: Console, call: ShownCall, name: str) -> None:
    side = "to" if call.direction == "outbound" else "from"
    number = f"{name} ({call.number})" if name else call.number
    measures = "".join(f", {words.lower()} {value}" for words, value in call.measures)
    console.print(
        f"  [bold]call {side} {escape(to_one_line(number, MAX_TEXT))}[/]  [quiet]#{call.seq}[/]  "
        f"{escape(describe_ending(call))}[quiet]{escape(measures)}[/]",
        soft_wrap=True,
    )
    rows = list(_list_rows(call.moments))
    _print_rows(console, rows[:MAX_ROWS])
    _print_left_out(console, len(rows) - MAX_ROWS, "row")
    console.print()


def _print_rows(console: Console, rows: Sequence[Row]) -> None:
    """Print rows in two columns on a terminal; else each on a line, for programs that search the output."""
    if not console.is_terminal:
        for time, far_end, agent in rows:
            console.print(f"[quiet]{time}[/]  [place]{'far end' if far_end else '  agent'}[/]  {far_end or agent}")
        return
    table = Table.grid(padding=(0, 2))
    table.width = min(console.width, MAX_WIDTH)
    table.add_column(no_wrap=True, justify="right", style="quiet")
    table.add_column(ratio=3, overflow="fold")
    table.add_column(ratio=2, overflow="fold")
    table.add_row("", "[quiet]far end[/]", "[quiet]agent[/]")
    for row in rows:
        table.add_row(*row)
    if rows:
        console.print(table)


def _list_rows(moments: Sequence[CallMoment]) -> Iterator[Row]:
    repeated = find_repeated_announcements(moments, ())
    counts = Counter(repeated.values())
    nodes: list[CallMoment] = []
    for moment in moments:
        if moment.sort == "node":
            nodes.append(moment)
            continue
        if nodes:
            yield _build_nodes_row(nodes)
            nodes = []
        if moment.seq not in repeated:
            yield _build_row(moment, counts[moment.seq])
    if nodes:
        yield _build_nodes_row(nodes)


def _build_nodes_row(nodes: Sequence[CallMoment]) -> Row:
    path = " › ".join(node.text for node in nodes)
    return _format_time(nodes[0]), f"[quiet]menu {escape(to_one_line(path, MAX_TEXT))}[/]", ""


def _build_row(moment: CallMoment, repeated: int) -> Row:
    words = escape(to_one_line(moment.text, MAX_TEXT))
    note = f" [quiet]({escape(to_one_line(moment.note, MAX_TEXT))})[/]" if moment.note else ""
    match moment.sort:
        case "speech":
            speech = f"{words}{' [quiet]— cut short[/]' if moment.is_cut else ''}{note}"
            speaker = "" if moment.speaker in ("agent", "line") else f"[place]{moment.speaker}[/] "
            sides = ("", speech) if moment.is_by_agent else (f"{speaker}{speech}", "")
        case "keys":
            sides = ("", f"[bold]keys {words}[/]{note}")
        case "hold":
            again = f"; {repeated} repeated announcement{'s' * (repeated != 1)}" if repeated else ""
            hold = f"[quiet]── {words}{again} ──[/]{note}"
            sides = ("", hold) if moment.is_by_agent else (hold, "")
        case _:
            sides = (f"[quiet]· {words}[/]{note}", "")
    return _format_time(moment), *sides


def _format_time(moment: CallMoment) -> str:
    return f"{' ' * INDENT}{format_seconds(moment.start):>7}"


def _print_voicemail(console: Console, voicemail: ShownVoicemail) -> None:
    sender = f" from {voicemail.from_number}" if voicemail.from_number else ""
    head = f"voicemail in {voicemail.mailbox}{sender}, {round(voicemail.seconds)} s"
    text = to_one_line(voicemail.text, MAX_TEXT) or "(nothing after the beep)"
    console.print(f"  [bold]{escape(head)}[/]  [quiet]#{voicemail.seq}[/]  {escape(text)}", soft_wrap=True)
    if voicemail.before_beep:
        lost = escape(to_one_line(voicemail.before_beep, MAX_TEXT))
        console.print(f"    [quiet]before the beep, not recorded:[/] {lost}", soft_wrap=True)


def _print_left_out(console: Console, number: int, noun: str) -> None:
    if number > 0:
        console.print(f"  [quiet]{number:,} more {noun}{'s' * (number != 1)} not shown; --events prints the log[/]")
