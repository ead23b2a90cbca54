"""The operations of a file drop."""

from clerkship.sandbox.exchange import Reply, json_reply
from clerkship.sandbox.route import Call, Route
from clerkship.simulators.files import wire
from clerkship.simulators.files.mask import hide, masked
from clerkship.simulators.files.patch import parse_patch

LONGEST_UPLOAD = 1_000_000_000
_PATH = {"path": "a path in the drop, such as inbox/referral.csv; upper and lower case differ"}
_WRITTEN = {**_PATH, "body": "what the file says"}
_FOLDER = {"path": "a folder, such as inbox"}
_PAGE = {
    "after": "only what comes behind this: `next` of the page before",
    "count": "at most so many; `next` in the answer says that there is more",
}


@masked
def list_files(call: Call) -> Reply:
    """What is there, all or under `?prefix=` a folder and the folders in it: `{"files": [{"path", "size"}]}`."""
    query = call.request.query
    count = wire.parse_count(query.get("count"))
    folder, after = wire.parse_folder(query.get("prefix", "")), wire.parse_after(query.get("after", ""))
    found = call.state.list(call.act, folder, after, count)
    return json_reply(200, wire.render_files(found, found[-1][0] if len(found) == count else ""))


@masked
def read_file(call: Call) -> Reply:
    """One file's bytes."""
    data = call.state.read(call.act, wire.parse_path(call.params["path"]))
    return Reply(200, data, media="application/octet-stream")


@masked
def write_file(call: Call) -> Reply:
    """Make a file (201), or make it anew (204), from the body; folders that it needs are made with it."""
    complete = call.request.headers.get(wire.INCOMPLETE, "").lower() != "true"
    path, body = wire.parse_path(call.params["path"]), call.request.body
    patch = parse_patch(call.request.headers, body)
    if patch is not None:
        new = call.state.patch(call.act, path, patch, body, complete=complete)
    else:
        new = call.state.write(call.act, path, body, complete=complete)
    return Reply(201 if new else 204)


@masked
def stamp_file(call: Call) -> Reply:
    """Say when a file, or a folder, was last modified: `{"modified": "2026-03-02T09:00:00Z"}`."""
    modified = wire.parse_stamp(call.request.body)
    call.state.stamp(call.act, wire.parse_path(call.params["path"]), modified)
    return Reply(204)


@masked
def delete_file(call: Call) -> Reply:
    """Remove a file."""
    call.state.delete(call.act, wire.parse_path(call.params["path"]))
    return Reply(204)


@masked
def list_folder(call: Call) -> Reply:
    """What is in one folder, files and folders: `{"entries": [{"name", "folder", "size", "modified"}]}`."""
    query = call.request.query
    count = wire.parse_count(query.get("count"))
    folder, after = wire.parse_folder(call.params.get("path", "")), wire.parse_after(query.get("after", ""))
    if call.request.headers.get(wire.PAGED) == "true":
        told = {"path": folder, "count": call.state.count(call.act, folder)}
        return json_reply(200, told | {"modified": call.state.modified(folder), "now": call.act.now})
    found = call.state.entries(call.act, folder, after, count)
    last = found[-1] if len(found) == count else None
    return json_reply(200, wire.render_entries(found, last.name + "/" * last.folder if last is not None else ""))


@masked
def make_folder(call: Call) -> Reply:
    """Make an empty folder, in one that is there."""
    call.state.make_folder(call.act, wire.parse_folder(call.params["path"]))
    return Reply(201)


@masked
def remove_folder(call: Call) -> Reply:
    """Remove a folder that is empty."""
    call.state.remove_folder(call.act, wire.parse_folder(call.params["path"]))
    return Reply(204)


@masked
def rename(call: Call) -> Reply:
    """Move a file, or a folder with all that is in it: `{"from": "inbox/a.csv", "to": "archive/a.csv"}`. Where
    something is already, it is refused, unless `"replace": true` is said."""
    asked = wire.parse_rename(call.request.body)
    path, to = hide(asked.path, call.alias), hide(asked.to, call.alias)
    call.state.rename(call.act, path, to, replace=asked.replace)
    return Reply(204)


@masked
def stat(call: Call) -> Reply:
    """What is at a path, without opening it: `{"path", "folder", "size", "modified"}`."""
    path = wire.parse_folder(call.params.get("path", ""))
    if call.request.query.get("missing") == "ok" and not call.state.is_there(path):
        return json_reply(200, None)
    return json_reply(200, wire.render_stat(call.state.stat(path)))


def space(call: Call) -> Reply:
    """How much the drop may hold, and how much of that is free: `{"quota", "free"}`."""
    state = call.state
    return json_reply(200, {"quota": state.limits.quota, "free": max(0, state.limits.quota - state.used)})


@masked
def space_for(call: Call) -> Reply:
    """What may be written at a path, before it is: `{"size", "most", "room", "now"}`; refused if `?size=` may not."""
    query = call.request.query
    size, coming = wire.parse_size(query.get("size", "0")), wire.parse_size(query.get("coming", "0"))
    found = call.state.space_for(call.act, wire.parse_path(call.params["path"]), size, coming)
    return json_reply(200, found._asdict() | {"now": call.act.now})


ROUTES = (
    Route(
        "GET",
        "/files",
        "list_files",
        list_files,
        query={"prefix": "a folder; only what is in it", **_PAGE},
        less="give a `prefix`, or a `count`",
    ),
    Route("GET", "/files/{path*}", "read_file", read_file, about=_PATH),
    Route("PUT", "/files/{path*}", "write_file", write_file, body="bytes", about=_WRITTEN, limit=LONGEST_UPLOAD),
    Route("PATCH", "/files/{path*}", "stamp_file", stamp_file, body=wire.Stamp, about=_PATH, tool=False),
    Route("DELETE", "/files/{path*}", "delete_file", delete_file, about=_PATH),
    Route("GET", "/folders", "list_outermost", list_folder, query=_PAGE, less="give a `count`", tool=False),
    Route("GET", "/folders/{path*}", "list_folder", list_folder, query=_PAGE, about=_FOLDER, less="give a `count`"),
    Route("PUT", "/folders/{path*}", "make_folder", make_folder, about=_FOLDER),
    Route("DELETE", "/folders/{path*}", "remove_folder", remove_folder, about=_FOLDER),
    Route("POST", "/rename", "rename", rename, body=wire.Rename),
    Route("GET", "/stat", "stat_outermost", stat, tool=False),
    Route(
        "GET",
        "/stat/{path*}",
        "stat",
        stat,
        query={"missing": "`ok` if it need not be there: then the answer is `null`, and nothing is refused"},
        about=_PATH,
        tool=False,
    ),
    Route("GET", "/space", "space", space, tool=False),
    Route(
        "GET",
        "/space/{path*}",
        "space_for",
        space_for,
        query={"size": "bytes that the file would have", "coming": "bytes of other files that are on their way"},
        about=_PATH,
        tool=False,
    ),
)
