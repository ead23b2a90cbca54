"""Environments, simulators, datasets, benchmarks, tasks, criteria and entities of benchmarks that are being written."""

from typing import Annotated, Any, cast

from fastapi import APIRouter, Body, Path, Query, Response

from clerkship.api.dependencies import PagingPart, ServerPart
from clerkship.api.etags import ChangePreconditions, ReadPreconditions
from clerkship.api.models.authoring import EntityList, GenerationRequest
from clerkship.api.routing import build_router
from clerkship.model.server_objects import COLLECTIONS, DraftKind, DraftObject, ObjectList
from clerkship.service.serving.drafts.requests import add_entity, merge_patch, normalize, remove_entity
from clerkship.service.serving.drafts.table import ObjectFilter

router = build_router("authoring")
ObjectId = Annotated[str, Path(alias="id", description="The id of the object. A benchmark may be named by its slug.")]
Definition = Annotated[
    dict[str, Any],
    Body(description="The keys of its definition in a file. Keys that the server alone sets are ignored."),
]
NameFilter = Annotated[str | None, Query(description="Only objects whose name has this text.")]
BenchmarkFilter = Annotated[str | None, Query(description="Only objects of this benchmark: its id or slug.")]


@router.get("/benchmarks")
def list_benchmarks(server: ServerPart, paging: PagingPart, name: NameFilter = None) -> ObjectList[DraftObject]:
    """List the benchmarks that are being written. Those that are published are under `/v1/published`."""
    return paging.render(server.drafts.list("benchmark", ObjectFilter(name=name), paging.request))


@router.get("/environments")
def list_environments(
    server: ServerPart, paging: PagingPart, name: NameFilter = None, benchmark_id: BenchmarkFilter = None
) -> ObjectList[DraftObject]:
    """List environments."""
    return paging.render(server.drafts.list("environment", ObjectFilter(benchmark_id, None, name), paging.request))


@router.get("/simulators")
def list_simulators(
    server: ServerPart,
    paging: PagingPart,
    name: NameFilter = None,
    benchmark_id: BenchmarkFilter = None,
    environment_id: Annotated[str | None, Query(description="Only those of this environment.")] = None,
) -> ObjectList[DraftObject]:
    """List simulators."""
    wanted = ObjectFilter(benchmark_id, environment_id, name)
    return paging.render(server.drafts.list("simulator", wanted, paging.request))


@router.get("/datasets")
def list_datasets(
    server: ServerPart, paging: PagingPart, name: NameFilter = None, benchmark_id: BenchmarkFilter = None
) -> ObjectList[DraftObject]:
    """List datasets."""
    return paging.render(server.drafts.list("dataset", ObjectFilter(benchmark_id, None, name), paging.request))


@router.get("/tasks")
def list_tasks(
    server: ServerPart,
    paging: PagingPart,
    name: NameFilter = None,
    benchmark_id: BenchmarkFilter = None,
    tag: Annotated[str | None, Query(description="Only tasks with this tag.")] = None,
) -> ObjectList[DraftObject]:
    """List tasks with their criteria."""
    return paging.render(server.drafts.list("task", ObjectFilter(benchmark_id, None, name, tag), paging.request))


@router.get("/criteria")
def list_criteria(
    server: ServerPart,
    paging: PagingPart,
    name: NameFilter = None,
    benchmark_id: BenchmarkFilter = None,
    task_id: Annotated[str | None, Query(description="Only those of this task.")] = None,
) -> ObjectList[DraftObject]:
    """List criteria. `name` is a part of the label."""
    return paging.render(server.drafts.list("criterion", ObjectFilter(benchmark_id, task_id, name), paging.request))


@router.post("/datasets/generate", status_code=201)
def generate_dataset(server: ServerPart, body: GenerationRequest) -> DraftObject:
    """Create a dataset of synthetic patients. The same seed gives the same patients."""
    generate = {"patients": body.patients, "seed": body.seed}
    data = {"benchmark_id": body.benchmark_id, "name": body.name, "type": "fhir", "generate": generate}
    return server.drafts.create("dataset", data)


@router.get("/tasks/{id}/entities")
def list_entities(server: ServerPart, object_id: ObjectId) -> EntityList:
    """List the records that a task is about."""
    return EntityList(data=(server.drafts.get("task", object_id).model_extra or {}).get("entities", []))


@router.post("/tasks/{id}/entities", status_code=201, response_model=DraftObject)
def create_entity(
    server: ServerPart, object_id: ObjectId, body: Definition, preconditions: ChangePreconditions
) -> Response:
    """Bind a record to a task; return the task."""
    entities = (server.drafts.get("task", object_id).model_extra or {}).get("entities", [])
    within = ("entities", len(entities))
    change = add_entity(body)
    return preconditions.render(server.drafts.update("task", object_id, change, preconditions.require, within), 201)


@router.delete("/tasks/{id}/entities/{entity_id}", response_model=DraftObject)
def delete_entity(
    server: ServerPart, object_id: ObjectId, entity_id: str, preconditions: ChangePreconditions
) -> Response:
    """Unbind a record from a task; return the task."""
    return preconditions.render(
        server.drafts.update("task", object_id, remove_entity(entity_id), preconditions.require)
    )


def _add_object_routes(to: APIRouter, kind: DraftKind, plural: str) -> None:
    """Add the routes that all kinds of objects have."""
    article = "an" if kind == "environment" else "a"

    def create(server: ServerPart, body: Definition, preconditions: ReadPreconditions) -> Response:
        return preconditions.render(server.drafts.create(kind, body), 201)

    def read(server: ServerPart, object_id: ObjectId, preconditions: ReadPreconditions) -> Response:
        return preconditions.render(server.drafts.get(kind, object_id))

    def replace(
        server: ServerPart, object_id: ObjectId, body: Definition, preconditions: ChangePreconditions
    ) -> Response:
        return preconditions.render(server.drafts.replace(kind, object_id, body, preconditions.require))

    def change(
        server: ServerPart, object_id: ObjectId, body: Definition, preconditions: ChangePreconditions
    ) -> Response:
        def patch(current: dict[str, Any]) -> dict[str, Any]:
            return normalize(kind, cast(dict[str, Any], merge_patch(current, body)), current)

        return preconditions.render(server.drafts.update(kind, object_id, patch, preconditions.require))

    def delete(server: ServerPart, object_id: ObjectId, preconditions: ChangePreconditions) -> None:
        server.drafts.delete(kind, object_id, preconditions.require)

    collection, item = f"/{plural}", f"/{plural}/{{id}}"
    for method, path, status, handle, description in (
        ("POST", collection, 201, create, f"Create {article} {kind}."),
        ("GET", item, 200, read, f"Return {article} {kind}."),
        ("PUT", item, 200, replace, f"Replace {article} {kind}. A key that is left out is removed."),
        ("PATCH", item, 200, change, f"Change keys of {article} {kind} by a merge patch (RFC 7396)."),
        ("DELETE", item, 204, delete, f"Delete {article} {kind} with everything in it."),
    ):
        to.add_api_route(
            path,
            handle,
            methods=[method],
            status_code=status,
            name=f"{handle.__name__}_{kind}",
            description=description,
            response_model=None if status == 204 else DraftObject,
        )


for _kind, _plural in COLLECTIONS.items():
    _add_object_routes(router, _kind, _plural)
