"""The operations of a file drop."""

import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache, wraps
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AwareDatetime, Field
from pydantic.json_schema import SkipJsonSchema

from clerkship.model.frozen import Flag, Frozen
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.request import Refusal
from clerkship.simulators.files.paths import parse_folder, parse_path
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.files.volume import FileEntry, FileSpace

PLACEHOLDER = "[address]"
InputT = TypeVar("InputT", bound=Frozen)
ResultT = TypeVar("ResultT")


@lru_cache(maxsize=256)
def _pattern(alias: str) -> re.Pattern[str]:
    return re.compile(re.escape(alias), re.IGNORECASE)


def hide_address(text: str, alias: str) -> str:
    """Replace the address in a text. A path written with the address can still be read with the address."""
    return _pattern(alias).sub(PLACEHOLDER, text) if alias else text


def masked(run: Callable[[Any, InputT], ResultT]) -> Callable[[Any, InputT], ResultT]:
    """Decorate an operation: hide the address in the texts of its input and in its refusals."""

    @wraps(run)
    def run_masked(context: Any, input: InputT) -> ResultT:
        alias = context.secret_address
        if not alias:
            return run(context, input)
        try:
            return run(context, _mask_input(input, alias))
        except Refusal as refusal:
            raise Refusal(refusal.status, refusal.code, hide_address(refusal.reason, alias), refusal.headers) from None

    return run_masked


def _mask_input(input: InputT, alias: str) -> InputT:
    search = _pattern(alias).search
    texts = {name: value for name, value in input.__dict__.items() if isinstance(value, str) and search(value)}
    if not texts:
        return input
    return input.model_copy(update={name: hide_address(text, alias) for name, text in texts.items()})


MAX_ENTRIES = 1_000_000
Context = OperationContext[FilesState]
Path = Annotated[str, Field(description="a path in the drop, such as inbox/referral.csv; upper and lower case differ")]
Folder = Annotated[str, Field(description="a folder, such as inbox")]
After = Annotated[str, Field(description="entries after this one: the next of the previous page")]
Count = Annotated[int, Field(description="the largest number of entries to return; next is set if there are more")]


class FilePath(Frozen):
    """A file or a folder."""

    path: Path


class FolderPath(Frozen):
    """A folder."""

    path: Folder = ""


class FilesUnder(Frozen):
    """Which files to list."""

    prefix: Annotated[str, Field(description="a folder; only files under it are listed")] = ""
    after: After = ""
    count: Count = MAX_ENTRIES


class OutermostPage(Frozen):
    """Which entries of the outermost folder to list."""

    after: After = ""
    count: Count = MAX_ENTRIES
    only_count: SkipJsonSchema[bool] = False
    """Whether a listener reads the entries page by page: then only their number is returned."""


class FolderPage(OutermostPage, FolderPath):
    """Which entries of a folder to list."""


class NewFile(Frozen):
    """A file to write."""

    path: Path
    data: Annotated[bytes, Field(description="the content of the file")] = b""
    complete: SkipJsonSchema[bool] = True
    """False if an upload broke off."""


class NewTime(Frozen):
    """When a file or a folder was last modified."""

    path: Path
    modified: Annotated[AwareDatetime, Field(description="a time with its zone, such as 2026-03-02T09:00:00Z")]


class NewName(Frozen):
    """A file or folder to move."""

    path: Annotated[str, Field(alias="from", description="current path")]
    to: Annotated[str, Field(description="new path; its folder must exist")]
    replace: Annotated[Flag, Field(description="whether an existing file is replaced")] = False


class OutermostStat(Frozen):
    """How to describe the outermost folder."""

    missing: Annotated[str, Field(description="`ok`: return null instead of an error if nothing is there")] = ""


class StatPath(OutermostStat, FolderPath):
    """A file or folder to look at."""


class FileSize(Frozen):
    """A file that is to be written."""

    path: Path
    size: Annotated[int, Field(description="size of the file, in bytes")] = 0
    coming: Annotated[int, Field(description="bytes of other files that are being uploaded")] = 0


class EntryPage(NamedTuple):
    """Entries, and where the next page starts."""

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


@operation(essential=True, shorter_hint="give a `prefix`, or a `count`")
@masked
def list_files(context: Context, files: FilesUnder) -> EntryPage:
    """List files with their sizes, all or those under prefix (subfolders included): {"files": [{"path", "size"}]}."""
    parse_folder(files.after)
    page = context.state.list(context.action, parse_folder(files.prefix), files.after, files.count)
    return EntryPage(page, page[-1][0] if len(page) == files.count else "")


@operation(essential=True)
@masked
def read_file(context: Context, file: FilePath) -> bytes:
    """Return the content of a file."""
    return context.state.read(context.action, parse_path(file.path))


@operation(essential=True)
@masked
def write_file(context: Context, file: NewFile) -> bool:
    """Write a file: create it or replace its content. Missing folders are created."""
    return context.state.write(context.action, parse_path(file.path), file.data, complete=file.complete)


@operation(tool=False)
@masked
def stamp_file(context: Context, stamp: NewTime) -> None:
    """Set the modification time of a file or folder."""
    context.state.stamp(context.action, parse_path(stamp.path), stamp.modified)


@operation()
@masked
def delete_file(context: Context, file: FilePath) -> None:
    """Delete a file."""
    context.state.delete(context.action, parse_path(file.path))


@operation(shorter_hint="give a `count`")
@masked
def list_folder(context: Context, page: FolderPage) -> EntryPage | FolderSummary:
    """List the files and folders directly in a folder: {"entries": [{"name", "folder", "size", "modified"}]}."""
    state, folder = context.state, parse_folder(page.path)
    parse_folder(page.after)
    if page.only_count:
        return FolderSummary(
            folder, state.count(context.action, folder), state.volume.modified(folder), context.action.now
        )
    entries = state.entries(context.action, folder, page.after, page.count)
    last = entries[-1] if len(entries) == page.count else None
    return EntryPage(entries, last.name + "/" * last.folder if last is not None else "")


@operation(tool=False, shorter_hint="give a `count`")
def list_outermost(context: Context, page: OutermostPage) -> EntryPage | FolderSummary:
    """List the outermost folder: `{"entries": [{"name", "folder", "size", "modified"}]}`."""
    return list_folder.run(context, FolderPage(after=page.after, count=page.count, only_count=page.only_count))


@operation()
@masked
def make_folder(context: Context, folder: FolderPath) -> None:
    """Create an empty folder. Its parent must exist."""
    context.state.make_folder(context.action, parse_folder(folder.path))


@operation()
@masked
def remove_folder(context: Context, folder: FolderPath) -> None:
    """Remove an empty folder."""
    context.state.remove_folder(context.action, parse_folder(folder.path))


@operation()
@masked
def rename(context: Context, names: NewName) -> None:
    """Move or rename a file, or a folder with its content. An existing target is an error unless replace is true."""
    context.state.rename(context.action, parse_path(names.path), parse_path(names.to), replace=names.replace)


@operation(tool=False)
@masked
def stat(context: Context, target: StatPath) -> FileEntry | None:
    """Return the size and modification time of a path."""
    path = parse_folder(target.path)
    if target.missing == "ok" and path not in context.state.volume:
        return None
    return context.state.stat(path)


@operation(tool=False)
def stat_outermost(context: Context, target: OutermostStat) -> FileEntry | None:
    """Describe the outermost folder: `{"path", "folder", "size", "modified"}`."""
    return stat.run(context, StatPath(missing=target.missing))


@operation(tool=False)
def space(context: Context, _: NoInput) -> Quota:
    """Return the quota and the free space, in bytes."""
    quota = context.state.config.quota
    return Quota(quota, max(0, quota - context.state.volume.used))


@operation(tool=False)
@masked
def space_for(context: Context, file: FileSize) -> FileSpace:
    """Return how many bytes may be written at a path; refused if size is too large."""
    return context.state.space_for(context.action, parse_path(file.path), file.size, file.coming)


OPERATIONS = (
    *(list_files, read_file, write_file, stamp_file, delete_file),
    *(list_outermost, list_folder, make_folder, remove_folder, rename),
    *(stat_outermost, stat, space, space_for),
)
