"""Build the application: the routes with their handlers, in front of a server."""

from fastapi import FastAPI

from clerkship import __version__
from clerkship.api.problems import add_problem_handlers
from clerkship.api.routes import keys, solvers
from clerkship.service.serving.server import Server

ROUTERS = (
    keys.router,
    solvers.router,
)


def build_app(server: Server, root_path: str = "") -> FastAPI:
    """Return the application. `root_path` is the prefix under which a proxy passes requests on."""
    app = FastAPI(
        title="Clerkship",
        version=__version__,
        root_path=root_path,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.server = server
    for router in ROUTERS:
        app.router.routes += router.routes
    add_problem_handlers(app)
    return app
