"""The files of benchmarks that are being written: all at once as an archive, and each alone; publishing."""

from typing import Annotated, Any

from fastapi import Path as PathParameter
from fastapi import Query, Request, Response
from starlette.concurrency import run_in_threadpool

from clerkship.api.dependencies import ServerPart
from clerkship.api.etags import ChangePreconditions, ReadPreconditions
from clerkship.api.models.authoring import PublishDraftRequest, build_pushed_draft
from clerkship.api.models.published import build_published_summary
from clerkship.api.problems import HttpRefusal
from clerkship.api.routes.authoring import ObjectId
from clerkship.api.routing import build_router, receive_file
from clerkship.model.server_objects import DraftObject, PushedDraft
from clerkship.service.serving.drafts.packing import MAX_FILE_BYTES, MEDIA_TYPE, pack, unpack
from clerkship.suite_files.published.card import PublishedSummary

MAX_PACKED_BYTES = 64_000_000
_ARCHIVE_TYPES = (MEDIA_TYPE, "application/zip", "application/x-tar", "application/octet-stream")
_DATASET_NAMES = {
    "application/json": "data.json",
    "application/fhir+json": "data.json",
    "application/x-ndjson": "data.ndjson",
    "text/csv": "data.csv",
}
"""The file in which the content of a dataset is kept that was sent as one file of a type."""
_OCTETS = "application/octet-stream"
router = build_router("authoring")
FilePath = Annotated[str, PathParameter(description="The path of the file in the folder of the benchmark.")]


def _describe_body(*types: str) -> dict[str, Any]:
    schema = {"schema": {"type": "string", "format": "binary"}}
    return {"requestBody": {"required": True, "content": dict.fromkeys(types, schema)}}


@router.get("/benchmarks/{id}/files", response_class=Response, responses={200: {"content": {MEDIA_TYPE: {}}}})
def download_files(server: ServerPart, object_id: ObjectId, preconditions: ReadPreconditions) -> Response:
    """Return all files of a benchmark, byte for byte, as a gzipped tar archive."""
    draft = server.drafts.find_draft(object_id)
    headers = {"content-disposition": f'attachment; filename="{draft.slug}.tar.gz"'}
    return preconditions.render_content(pack(server.drafts.read_files(draft.id)), MEDIA_TYPE, headers)


@router.put(
    "/benchmarks/{id}/files",
    response_model=PushedDraft,
    openapi_extra=_describe_body(*_ARCHIVE_TYPES),
    responses={201: {"model": PushedDraft, "description": "It is new."}},
)
async def upload_files(
    server: ServerPart, request: Request, object_id: ObjectId, preconditions: ChangePreconditions
) -> Response:
    """Replace all files of a benchmark by those of an archive (tar, gzipped or not, or ZIP).

    A slug that no benchmark has begins a new one. `If-Match` takes the ETag of the archive that `GET` returns.
    """
    data = await _receive(request, MAX_PACKED_BYTES)

    def require(files: dict[str, bytes] | None) -> None:
        preconditions.require_content(None if files is None else lambda: pack(files))

    def push() -> Response:
        changed, is_new = server.drafts.push(object_id, unpack(data), require)
        return preconditions.render(build_pushed_draft(changed, is_new=is_new), 201 if is_new else 200)

    return await run_in_threadpool(push)


@router.get("/benchmarks/{id}/files/{path:path}", response_class=Response, responses={200: {"content": {_OCTETS: {}}}})
def download_file(
    server: ServerPart, object_id: ObjectId, path: FilePath, preconditions: ReadPreconditions
) -> Response:
    """Return one file of a benchmark."""
    headers = {"content-disposition": "attachment", "x-content-type-options": "nosniff"}
    return preconditions.render_content(server.drafts.read_file(object_id, path), _OCTETS, headers)


@router.put("/benchmarks/{id}/files/{path:path}", response_model=PushedDraft, openapi_extra=_describe_body(_OCTETS))
async def upload_file(
    server: ServerPart, request: Request, object_id: ObjectId, path: FilePath, preconditions: ChangePreconditions
) -> Response:
    """Write one file of a benchmark."""
    data = await _receive(request, MAX_FILE_BYTES)

    def require(before: bytes | None) -> None:
        preconditions.require_content(None if before is None else lambda: before)

    changed = await run_in_threadpool(server.drafts.put_file, object_id, path, data, require)
    return preconditions.render(build_pushed_draft(changed))


@router.delete("/benchmarks/{id}/files/{path:path}", status_code=204)
def delete_file(server: ServerPart, object_id: ObjectId, path: FilePath, preconditions: ChangePreconditions) -> None:
    """Remove one file of a benchmark."""
    server.drafts.put_file(object_id, path, None, lambda before: preconditions.require_content(lambda: before or b""))


@router.post(
    "/datasets/upload",
    status_code=201,
    response_model=DraftObject,
    openapi_extra=_describe_body(*_DATASET_NAMES, *_ARCHIVE_TYPES),
)
async def upload_dataset(
    server: ServerPart,
    request: Request,
    preconditions: ReadPreconditions,
    benchmark_id: Annotated[str, Query(description="The benchmark: its id or slug.")],
    name: Annotated[str, Query(min_length=1, max_length=200)],
    type: Annotated[str, Query(description="The type of the dataset, such as `fhir`, `files` or `records`.")] = "fhir",
) -> Response:
    """Create a dataset of files: one Bundle or resource, one NDJSON or CSV file, or an archive of several files."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type not in (*_DATASET_NAMES, *_ARCHIVE_TYPES):
        expected = ", ".join((*_DATASET_NAMES, *_ARCHIVE_TYPES))
        raise HttpRefusal(415, f"the body is {content_type or 'of no type'}; send it as one of {expected}")
    data = await _receive(request, MAX_FILE_BYTES if content_type in _DATASET_NAMES else MAX_PACKED_BYTES)

    def create() -> Response:
        single = _DATASET_NAMES.get(content_type)
        files = {single: data} if single is not None else unpack(data)
        written = {"benchmark_id": benchmark_id, "name": name, "type": type}
        return preconditions.render(server.drafts.upload(written, files), 201)

    return await run_in_threadpool(create)


@router.post(
    "/benchmarks/{id}/publish",
    response_model=PublishedSummary,
    status_code=201,
    responses={200: {"model": PublishedSummary, "description": "It was published before."}},
)
def publish_benchmark(server: ServerPart, object_id: ObjectId, body: PublishDraftRequest) -> Response:
    """Publish a benchmark as `slug@version`, which never changes. The same content again is the same version."""
    served, is_new = server.drafts.publish(object_id, body.version)
    summary = build_published_summary(served)
    return Response(summary.model_dump_json(), 201 if is_new else 200, media_type="application/json")


async def _receive(request: Request, limit: int) -> bytes:
    data = bytearray()
    await receive_file(request, limit, data.extend)
    return bytes(data)
