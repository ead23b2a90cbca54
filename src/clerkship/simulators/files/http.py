"""A file drop over HTTP: files as bytes, listings and times as JSON."""

from datetime import UTC
from typing import Any

from pydantic import AwareDatetime, ValidationError

from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Refusal, Reply, json_reply
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators.files import operations as ops
from clerkship.simulators.files.entry import Entry, FileSpace
from clerkship.simulators.files.operations import Context

MAX_DIGITS = 20
"""Digits of 64 bits: a client may try to write there."""
MAX_UPLOAD = 1_000_000_000


def _count(call: HttpCall) -> int:
    """Read how many entries a page may have."""
    text = call.request.query.get("count")
    if text is None:
        return ops.MAX_ENTRIES
    if not (text.isascii() and text.isdigit() and len(text) < 8 and 1 <= int(text) <= ops.MAX_ENTRIES):
        raise Refusal(400, "bad_count", f"`count` is a number from 1 to {ops.MAX_ENTRIES}")
    return int(text)


def _size(call: HttpCall, name: str) -> int:
    """Read a number of bytes."""
    text = call.request.query.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise Refusal(400, "bad_size", "`size` and `coming` are numbers of bytes")
    return int(text)


def parse_files(call: HttpCall, context: Context) -> ops.FilesUnder:
    """Read which files to list."""
    query = call.request.query
    return ops.FilesUnder(prefix=query.get("prefix", ""), after=query.get("after", ""), count=_count(call))


def parse_page(call: HttpCall, context: Context) -> ops.FolderPage:
    """Read which entries of a folder to list."""
    path, after = call.params.get("path", ""), call.request.query.get("after", "")
    return ops.FolderPage(path=path, after=after, count=_count(call))


def parse_space(call: HttpCall, context: Context) -> ops.FileSize:
    """Read what is to be written."""
    return ops.FileSize(path=call.params["path"], size=_size(call, "size"), coming=_size(call, "coming"))


def parse_rename(call: HttpCall, context: Context) -> ops.NewName:
    """Read `{"from", "to", "replace"}`."""
    try:
        return ops.NewName.model_validate_json(call.body)
    except ValidationError as error:
        raise _bad_body(error, '{"from": "inbox/a.csv", "to": "archive/a.csv", "replace": false}') from None


def parse_stamp(call: HttpCall, context: Context) -> ops.NewTime:
    """Read `{"modified"}`."""
    try:
        stamp = Stamp.model_validate_json(call.body)
        return ops.NewTime(path=call.params["path"], modified=stamp.modified.astimezone(UTC))
    except ValidationError as error:
        raise _bad_body(error, '{"modified": "2026-03-02T09:00:00Z"}') from None
    except OverflowError:
        raise Refusal(400, "bad_body", "`modified` is not a time that can be kept") from None


class Stamp(Frozen):
    """The body of a request that sets a time."""

    modified: AwareDatetime


def _bad_body(error: ValidationError, example: str) -> Refusal:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return Refusal(400, "bad_body", f"{where}: {first['msg']}; expected {example}".removeprefix(": "))


def render_files(call: HttpCall, context: Context, page: ops.EntryPage) -> Reply:
    """Write paths and sizes, and what the next page begins behind, if there is one."""
    return _page("files", [{"path": path, "size": size} for path, size in page.entries], page.next)


def render_entries(call: HttpCall, context: Context, page: ops.EntryPage) -> Reply:
    """Write what is in a folder."""
    return _page("entries", [_show(entry, "name") for entry in page.entries], page.next)


def _page(name: str, entries: list[dict[str, Any]], next: str) -> Reply:
    return json_reply(200, {name: entries, **({"next": next} if next else {})})


def render_stat(call: HttpCall, context: Context, entry: Entry | None) -> Reply:
    """Write what is at a path."""
    return json_reply(200, None if entry is None else _show(entry, "path"))


def render_written(call: HttpCall, context: Context, new: bool) -> Reply:
    """Say whether a file is new."""
    return Reply(201 if new else 204)


def render_numbers(call: HttpCall, context: Context, numbers: ops.Quota | FileSpace) -> Reply:
    """Write how much may be written."""
    return json_reply(200, numbers._asdict())


def _show(entry: Entry, key: str) -> dict[str, Any]:
    """Show one entry. Whether it is complete is not said: no protocol does, and an agent has to find out."""
    name, folder, size, modified = entry
    return {key: name, "folder": folder, "size": size, "modified": modified}


ROUTES = (
    Route("GET", "/files", ops.list_files, parse=parse_files, render=render_files),
    Route("GET", "/files/{path*}", ops.read_file),
    Route("PUT", "/files/{path*}", ops.write_file, body="data", render=render_written, max_body=MAX_UPLOAD),
    Route("PATCH", "/files/{path*}", ops.stamp_file, parse=parse_stamp),
    Route("DELETE", "/files/{path*}", ops.delete_file),
    Route("GET", "/folders", ops.list_outermost, parse=parse_page, render=render_entries),
    Route("GET", "/folders/{path*}", ops.list_folder, parse=parse_page, render=render_entries),
    Route("PUT", "/folders/{path*}", ops.make_folder, status=201),
    Route("DELETE", "/folders/{path*}", ops.remove_folder),
    Route("POST", "/rename", ops.rename, parse=parse_rename),
    Route("GET", "/stat", ops.stat_outermost, render=render_stat),
    Route("GET", "/stat/{path*}", ops.stat, render=render_stat),
    Route("GET", "/space", ops.space, render=render_numbers),
    Route("GET", "/space/{path*}", ops.space_for, parse=parse_space, render=render_numbers),
)
