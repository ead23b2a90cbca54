"""Build the application: the routes with their handlers, in front of a server."""

from functools import cache

import orjson
from fastapi import FastAPI, Response

from clerkship import __version__
from clerkship.api.description import describe_interface
from clerkship.api.event_stream import OpenStreams
from clerkship.api.observation import observe
from clerkship.api.problems import add_problem_handlers
from clerkship.api.routes import (
    authoring,
    benchmark_runs,
    draft_files,
    keys,
    operations,
    published,
    solvers,
    task_runs,
)
from clerkship.api.routing import GuardedRoute
from clerkship.api.viewer_pages import ViewerPages
from clerkship.service.serving.server import Server

ROUTERS = (
    operations.router,
    keys.router,
    solvers.router,
    published.router,
    benchmark_runs.router,
    task_runs.router,
    draft_files.router,
    authoring.router,
)


def build_routes(root_path: str = "") -> FastAPI:
    """Return the application without a server: enough to describe it."""
    app = FastAPI(
        title="Clerkship", version=__version__, openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.state.root_path = root_path
    for router in ROUTERS:
        app.router.routes += router.routes

    @cache
    def render_description() -> bytes:
        return orjson.dumps(describe_interface(app))

    async def get_openapi_document() -> Response:
        """Return the OpenAPI 3.1 description of all routes."""
        return Response(render_description(), media_type="application/json")

    path = "/v1/openapi.json"
    app.router.routes.append(GuardedRoute(path, get_openapi_document, methods=["GET"], tags=["operations"]))
    return app


def build_app(server: Server, root_path: str = "") -> FastAPI:
    """Return the application. `root_path` is the prefix under which a proxy passes requests on."""
    app = build_routes(root_path)
    app.state.server = server
    app.state.streams = OpenStreams()
    app.state.metrics = observe(app, root_path)
    app.router.routes += ViewerPages(server, root_path).routes
    add_problem_handlers(app)
    return app
