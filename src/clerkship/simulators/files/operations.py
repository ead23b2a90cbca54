"""The operations of a file drop."""

from datetime import datetime
from typing import Annotated, Any, NamedTuple

from pydantic import AwareDatetime, Field
from pydantic.json_schema import SkipJsonSchema

from clerkship.model.frozen import Flag, Frozen
from clerkship.sandbox.operation import NoInput, Operation, OperationContext, operation
from clerkship.simulators.files.entry import Entry
from clerkship.simulators.files.mask import masked
from clerkship.simulators.files.patch import Patch
from clerkship.simulators.files.paths import parse_folder, parse_path
from clerkship.simulators.files.state import FilesState

MAX_ENTRIES = 1_000_000
Context = OperationContext[FilesState]
Path = Annotated[str, Field(description="a path in the drop, such as inbox/referral.csv; upper and lower case differ")]
Folder = Annotated[str, Field(description="a folder, such as inbox")]
After = Annotated[str, Field(description="only what comes behind this: `next` of the page before")]
Count = Annotated[int, Field(description="at most so many; `next` in the answer says that there is more")]


class FilePath(Frozen):
    """A file or a folder."""

    path: Path


class FolderPath(Frozen):
    """A folder."""

    path: Folder = ""


class FilesUnder(Frozen):
    """Which files to list."""

    prefix: Annotated[str, Field(description="a folder; only what is in it")] = ""
    after: After = ""
    count: Count = MAX_ENTRIES


class FolderPage(FolderPath):
    """Which entries of a folder to list."""

    after: After = ""
    count: Count = MAX_ENTRIES
    only_count: SkipJsonSchema[bool] = False
    """Whether a listener reads the entries page by page: then only their number is returned."""


class NewFile(Frozen):
    """A file to write."""

    path: Path
    data: Annotated[bytes, Field(description="what the file says")] = b""
    complete: SkipJsonSchema[bool] = True
    """False if an upload broke off."""
    patch: SkipJsonSchema[Patch | None] = None
    """Where the parts of the data go, for a file that is changed in place."""


class NewTime(Frozen):
    """When a file or a folder was last modified."""

    path: Path
    modified: Annotated[AwareDatetime, Field(description="a time with its zone, such as 2026-03-02T09:00:00Z")]


class NewName(Frozen):
    """A file or folder to move."""

    path: Annotated[str, Field(alias="from", description="the file or folder as it is called now")]
    to: Annotated[str, Field(description="its new path; the folder it will be in must be there")]
    replace: Annotated[Flag, Field(description="whether it takes the place of a file that is there already")] = False


class StatPath(Frozen):
    """A file or folder to look at."""

    path: Folder = ""
    missing: Annotated[
        str, Field(description="`ok` if it need not be there: then the answer is `null`, and nothing is refused")
    ] = ""


class FileSize(Frozen):
    """A file that is to be written."""

    path: Path
    size: Annotated[int, Field(description="bytes that the file would have")] = 0
    coming: Annotated[int, Field(description="bytes of other files that are on their way")] = 0


class Page(NamedTuple):
    """Entries, and where the next page begins."""

    entries: Any
    next: str = ""


class FolderSummary(NamedTuple):
    """A folder without its entries."""

    path: str
    entries: int
    modified: datetime
    now: datetime


class Quota(NamedTuple):
    """Bytes that the drop may hold, and how many of them are free."""

    quota: int
    free: int


class FileSpace(NamedTuple):
    """Bytes that a file has (None if there is none), may have, and that are free; with the time."""

    size: int | None
    most: int
    room: int
    now: datetime


@operation(shorter_hint="give a `prefix`, or a `count`")
@masked
def list_files(context: Context, files: FilesUnder) -> Page:
    """What is there, all or under `?prefix=` a folder and the folders in it: `{"files": [{"path", "size"}]}`."""
    parse_folder(files.after)
    found = context.state.list(context.act, parse_folder(files.prefix), files.after, files.count)
    return Page(found, found[-1][0] if len(found) == files.count else "")


@operation()
@masked
def read_file(context: Context, file: FilePath) -> bytes:
    """One file's bytes."""
    return context.state.read(context.act, parse_path(file.path))


@operation()
@masked
def write_file(context: Context, file: NewFile) -> bool:
    """Make a file (201), or make it anew (204), from the body; folders that it needs are made with it."""
    path, state = parse_path(file.path), context.state
    if file.patch is not None:
        return state.patch(context.act, path, file.patch, file.data, complete=file.complete)
    return state.write(context.act, path, file.data, complete=file.complete)


@operation(tool=False)
@masked
def stamp_file(context: Context, stamp: NewTime) -> None:
    """Say when a file, or a folder, was last modified: `{"modified": "2026-03-02T09:00:00Z"}`."""
    context.state.stamp(context.act, parse_path(stamp.path), stamp.modified)


@operation()
@masked
def delete_file(context: Context, file: FilePath) -> None:
    """Remove a file."""
    context.state.delete(context.act, parse_path(file.path))


@operation(shorter_hint="give a `count`")
@masked
def list_folder(context: Context, page: FolderPage) -> Page | FolderSummary:
    """What is in one folder, files and folders: `{"entries": [{"name", "folder", "size", "modified"}]}`."""
    state, folder = context.state, parse_folder(page.path)
    parse_folder(page.after)
    if page.only_count:
        return FolderSummary(folder, state.count(context.act, folder), state.modified(folder), context.act.now)
    entries = state.entries(context.act, folder, page.after, page.count)
    last = entries[-1] if len(entries) == page.count else None
    return Page(entries, last.name + "/" * last.folder if last is not None else "")


list_outermost = Operation(list_folder.run, name="list_outermost", tool=False, shorter_hint="give a `count`")


@operation()
@masked
def make_folder(context: Context, folder: FolderPath) -> None:
    """Make an empty folder, in one that is there."""
    context.state.make_folder(context.act, parse_folder(folder.path))


@operation()
@masked
def remove_folder(context: Context, folder: FolderPath) -> None:
    """Remove a folder that is empty."""
    context.state.remove_folder(context.act, parse_folder(folder.path))


@operation()
@masked
def rename(context: Context, names: NewName) -> None:
    """Move a file, or a folder with all that is in it: `{"from": "inbox/a.csv", "to": "archive/a.csv"}`. Where
    something is already, it is refused, unless `"replace": true` is said."""
    context.state.rename(context.act, parse_path(names.path), parse_path(names.to), replace=names.replace)


@operation(tool=False)
@masked
def stat(context: Context, place: StatPath) -> Entry | None:
    """What is at a path, without opening it: `{"path", "folder", "size", "modified"}`."""
    path = parse_folder(place.path)
    if place.missing == "ok" and not context.state.is_there(path):
        return None
    return context.state.stat(path)


stat_outermost = Operation(stat.run, name="stat_outermost", tool=False)


@operation(tool=False)
def space(context: Context, _: NoInput) -> Quota:
    """How much the drop may hold, and how much of that is free: `{"quota", "free"}`."""
    quota = context.state.limits.quota
    return Quota(quota, max(0, quota - context.state.used))


@operation(tool=False)
@masked
def space_for(context: Context, file: FileSize) -> FileSpace:
    """What may be written at a path, before it is: `{"size", "most", "room", "now"}`; refused if `?size=` may not."""
    found = context.state.space_for(context.act, parse_path(file.path), file.size, file.coming)
    return FileSpace(*found, context.act.now)


OPERATIONS = (
    *(list_files, read_file, write_file, stamp_file, delete_file),
    *(list_outermost, list_folder, make_folder, remove_folder, rename),
    *(stat_outermost, stat, space, space_for),
)
