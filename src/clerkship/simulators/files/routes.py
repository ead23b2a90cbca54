"""The operations of a file drop."""

from clerkship.sandbox.exchange import Reply, json_reply
from clerkship.sandbox.route import Call, Route
from clerkship.simulators.files import wire


def list_files(call: Call) -> Reply:
    """What is there, all or under `?prefix=` a folder: `{"files": [{"path", "size"}]}`."""
    prefix = wire.parse_prefix(call.request.query.get("prefix", ""))
    return json_reply(200, wire.render_listing(call.state.list(call.act, prefix)))


def read_file(call: Call) -> Reply:
    """One file's bytes."""
    data = call.state.read(call.act, wire.parse_path(call.params["path"]))
    return Reply(200, data, media="application/octet-stream")


def write_file(call: Call) -> Reply:
    """Make a file (201), or make it anew (204), from the body."""
    new = call.state.write(call.act, wire.parse_path(call.params["path"]), call.request.body)
    return Reply(201 if new else 204)


def delete_file(call: Call) -> Reply:
    """Remove a file."""
    call.state.delete(call.act, wire.parse_path(call.params["path"]))
    return Reply(204)


ROUTES = (
    Route("GET", "/files", "list_files", list_files, query={"prefix": "a folder; only what is in it"}),
    Route("GET", "/files/{path*}", "read_file", read_file),
    Route("PUT", "/files/{path*}", "write_file", write_file, body="bytes"),
    Route("DELETE", "/files/{path*}", "delete_file", delete_file),
)
