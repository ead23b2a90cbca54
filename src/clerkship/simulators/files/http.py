"""The HTTP routes of a file drop: files as bytes, listings and times as JSON."""

from datetime import UTC
from typing import Any

from pydantic import AwareDatetime, ValidationError

from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Refusal, Reply, json_reply
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators.files import operations as ops
from clerkship.simulators.files.operations import Context
from clerkship.simulators.files.volume import FileEntry, FileSpace

MAX_DIGITS = 20
"""Digits of a 64-bit number, which is the largest offset of a client."""
MAX_UPLOAD = 1_000_000_000


def _count(call: HttpCall) -> int:
    text = call.request.query.get("count")
    if text is None:
        return ops.MAX_ENTRIES
    if not (text.isascii() and text.isdigit() and len(text) < 8 and 1 <= int(text) <= ops.MAX_ENTRIES):
        raise Refusal(400, "bad_count", f"`count` must be a number from 1 to {ops.MAX_ENTRIES}")
    return int(text)


def _size(call: HttpCall, name: str) -> int:
    text = call.request.query.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise Refusal(400, "bad_size", "`size` and `coming` must be numbers of bytes")
    return int(text)


def parse_files(call: HttpCall, context: Context) -> ops.FilesUnder:
    """Parse which files to list."""
    query = call.request.query
    return ops.FilesUnder(prefix=query.get("prefix", ""), after=query.get("after", ""), count=_count(call))


def parse_page(call: HttpCall, context: Context) -> ops.FolderPage:
    """Parse which entries of a folder to list."""
    path, after = call.params.get("path", ""), call.request.query.get("after", "")
    return ops.FolderPage(path=path, after=after, count=_count(call))


def parse_space(call: HttpCall, context: Context) -> ops.FileSize:
    """Parse the file that is to be written, and its size."""
    return ops.FileSize(path=call.params["path"], size=_size(call, "size"), coming=_size(call, "coming"))


def parse_rename(call: HttpCall, context: Context) -> ops.NewName:
    """Parse `{"from", "to", "replace"}`."""
    try:
        return ops.NewName.model_validate_json(call.body)
    except ValidationError as error:
        raise _bad_body(error, '{"from": "inbox/a.csv", "to": "archive/a.csv", "replace": false}') from None


def parse_modified(call: HttpCall, context: Context) -> ops.NewTime:
    """Parse `{"modified"}`."""
    try:
        stamp = ModifiedBody.model_validate_json(call.body)
        return ops.NewTime(path=call.params["path"], modified=stamp.modified.astimezone(UTC))
    except ValidationError as error:
        raise _bad_body(error, '{"modified": "2026-03-02T09:00:00Z"}') from None
    except OverflowError:
        raise Refusal(400, "bad_body", "`modified` is outside the range of supported times") from None


class ModifiedBody(Frozen):
    """The body of a request that sets a modification time."""

    modified: AwareDatetime


def _bad_body(error: ValidationError, example: str) -> Refusal:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return Refusal(400, "bad_body", f"{where}: {first['msg']}; expected {example}".removeprefix(": "))


def render_files(call: HttpCall, context: Context, page: ops.EntryPage) -> Reply:
    """Render paths and sizes, and where the next page starts."""
    return _page("files", [{"path": path, "size": size} for path, size in page.entries], page.next)


def render_entries(call: HttpCall, context: Context, page: ops.EntryPage) -> Reply:
    """Render the entries of a folder."""
    return _page("entries", [_entry_to_json(entry, "name") for entry in page.entries], page.next)


def _page(name: str, entries: list[dict[str, Any]], next: str) -> Reply:
    return json_reply(200, {name: entries, **({"next": next} if next else {})})


def render_stat(call: HttpCall, context: Context, entry: FileEntry | None) -> Reply:
    """Render the description of a file or folder."""
    return json_reply(200, None if entry is None else _entry_to_json(entry, "path"))


def render_written(call: HttpCall, context: Context, new: bool) -> Reply:
    """Render 201 for a new file, 204 for a replaced one."""
    return Reply(201 if new else 204)


def render_numbers(call: HttpCall, context: Context, numbers: ops.Quota | FileSpace) -> Reply:
    """Render sizes and quotas."""
    return json_reply(200, numbers._asdict())


def _entry_to_json(entry: FileEntry, key: str) -> dict[str, Any]:
    """Convert an entry to JSON. Whether it is complete is left out: no protocol reports it."""
    name, folder, size, modified = entry
    return {key: name, "folder": folder, "size": size, "modified": modified}


ROUTES = (
    Route("GET", "/files", ops.list_files, parse=parse_files, render=render_files),
    Route("GET", "/files/{path*}", ops.read_file),
    Route("PUT", "/files/{path*}", ops.write_file, body="data", render=render_written, max_body=MAX_UPLOAD),
    Route("PATCH", "/files/{path*}", ops.stamp_file, parse=parse_modified),
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
