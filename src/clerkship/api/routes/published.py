"""Published versions: their cards and manifests, archives up and down, withdrawal.

People get complete versions. Agents get the form without criteria and solutions.
"""

import gzip
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from fastapi import Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, StreamingResponse

from clerkship.api.dependencies import Caller, PagingPart, ServerPart
from clerkship.api.etags import Preconditions, ReadPreconditions
from clerkship.api.models.published import WithdrawalRequest, build_published_card, build_published_summary
from clerkship.api.routing import build_router, receive_file
from clerkship.model.server_objects import ObjectList
from clerkship.service.published_card import build_card
from clerkship.service.serving.keys import Principal
from clerkship.service.serving.published import ServedVersion
from clerkship.service.serving.server import Server
from clerkship.suite_files.published.archive import Archive
from clerkship.suite_files.published.card import PublishedCard, PublishedSummary
from clerkship.suite_files.published.manifest import Manifest
from clerkship.suite_files.published.places import PACKED_SUFFIX, get_archive_name
from clerkship.suite_files.published.signing import describe_signature
from clerkship.suite_files.published.zip_layout import MAX_ARCHIVE_BYTES

ARCHIVE_TYPE = "application/zip"
_CHUNK = 1 << 20
_BYTES: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
_DOWNLOAD: dict[int | str, dict[str, Any]] = {200: {"content": {ARCHIVE_TYPE: _BYTES}}}
router = build_router("published versions")


@router.get("/published")
def list_published(
    server: ServerPart,
    paging: PagingPart,
    slug: Annotated[str | None, Query(description="Only versions of this benchmark.")] = None,
) -> ObjectList[PublishedSummary]:
    """List the published versions of the server, and those that ship with Clerkship."""
    return paging.render(server.published.list(paging.request, slug=slug).map(build_published_summary))


@router.get("/published/{name}", response_model=PublishedCard)
def get_card(server: ServerPart, name: str, preconditions: ReadPreconditions) -> Response:
    """Return what a version tests and needs, and who scored what on it. `name` is such as `chart@1`."""
    return preconditions.render(_build_card(server, server.published.get(name)))


@router.get("/published/{name}/manifest", response_model=Manifest)
def get_manifest(server: ServerPart, caller: Caller, name: str) -> Response:
    """Return the manifest: its tasks, and the size and hash of all it has. Agents get that of the form for agents."""
    return Response(_choose_form(server, caller, name).manifest.data, media_type="application/json")


@router.get("/published/{name}/archive", response_class=StreamingResponse, responses=_DOWNLOAD)
def download_archive(server: ServerPart, caller: Caller, name: str) -> Response:
    """Return the archive. Agents get the form without criteria and solutions."""
    archive = _choose_form(server, caller, name)
    manifest = archive.manifest
    file = get_archive_name(manifest.slug, manifest.version, for_agents=manifest.for_agents)
    headers = {"etag": f'"{archive.digest}"', "content-disposition": f'attachment; filename="{file}"'}
    if archive.path.name.endswith(PACKED_SUFFIX):
        return StreamingResponse(_unpack(archive.path), headers=headers, media_type=ARCHIVE_TYPE)
    return FileResponse(archive.path, headers=headers, media_type=ARCHIVE_TYPE)


@router.put(
    "/published/{name}/archive",
    response_model=PublishedCard,
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": _BYTES}}},
    responses={201: {"model": PublishedCard, "description": "It is new."}},
)
async def upload_archive(server: ServerPart, request: Request, name: str) -> Response:
    """Take the archive of a version. A name that is used keeps its content: another one is refused."""
    upload = server.published.create_upload()
    try:
        with upload.open("xb") as file:
            await receive_file(request, MAX_ARCHIVE_BYTES, file.write)
        served, is_new = await run_in_threadpool(server.published.add, name, upload)
    finally:
        with suppress(OSError):
            upload.unlink(missing_ok=True)
    card = await run_in_threadpool(_build_card, server, served)
    return Preconditions().render(card, 201 if is_new else 200)


@router.post("/published/{name}/withdraw")
def withdraw_version(server: ServerPart, name: str, body: WithdrawalRequest) -> PublishedSummary:
    """Withdraw a version: no run of it can be started by its name. Its runs and its archive stay."""
    return build_published_summary(server.published.withdraw(name, body.reason))


@router.post("/published/{name}/restore")
def restore_version(server: ServerPart, name: str) -> PublishedSummary:
    """Undo the withdrawal of a version."""
    return build_published_summary(server.published.restore(name))


def _choose_form(server: Server, caller: Principal, name: str) -> Archive:
    """Return the complete version for a person, and the one for agents for others."""
    published = server.published
    return published.get(name).archive if caller.kind == "person" else published.get_for_agents(name)


def _build_card(server: Server, served: ServedVersion) -> PublishedCard:
    card = build_card(served.archive, str(describe_signature(served.archive, server.settings)))
    return build_published_card(served, card.data())


def _unpack(path: Path) -> Iterator[bytes]:
    with gzip.open(path) as file:
        while chunk := file.read(_CHUNK):
            yield chunk
