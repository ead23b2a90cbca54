"""Search the trials of a run, and label verdicts of judges."""

from threading import Lock
from typing import Any

import orjson

from clerkship.model.errors import InputError
from clerkship.model.store_place import StorePlace
from clerkship.sandbox.request import Refusal, Reply, Request, json_reply
from clerkship.service.labelling import VerdictLabel, label_verdict
from clerkship.service.run_search import OpenStore, RunSearch
from clerkship.viewer.context import ViewerContext

MAX_QUERY = 500
"""Characters of a query that count."""
MAX_NOTE = 2000
"""Characters of a note that are kept."""
_SEARCHES: dict[StorePlace, RunSearch] = {}
"""One index for each store of the process."""
_LOCK = Lock()


def _find_search(place: StorePlace, open_store: OpenStore) -> RunSearch:
    with _LOCK:
        if place not in _SEARCHES:
            _SEARCHES[place] = RunSearch(open_store)
        return _SEARCHES[place]


def search_run(context: ViewerContext, request: Request, run: str) -> Reply:
    """Return the trials that have all words of `q`."""
    with context.open_store() as store:
        run_id, search = store.run(run).id, _find_search(store.place, context.open_store)
    answer = search.search(run_id, request.query.get("q", "")[:MAX_QUERY])
    trials = [each._asdict() | {"hits": [hit._asdict() for hit in each.hits]} for each in answer.trials]
    return json_reply(200, answer._asdict() | {"trials": trials})


def label_judgement(context: ViewerContext, request: Request, run: str) -> Reply:
    """Write whether a judge is right about a criterion of a trial."""
    given = _read_object(request.body)
    try:
        trial = VerdictLabel(
            str(given.get("task", "")),
            str(given.get("criterion", "")),
            given.get("right") is True,
            int(given.get("trial", 1)),
            str(given.get("note", ""))[:MAX_NOTE],
        )
        with context.open_store() as store:
            written = label_verdict(store, run, trial)
    except (InputError, TypeError, ValueError) as error:
        raise Refusal(422, "no_judgement", str(error)) from None
    return json_reply(200, {"file": str(written.file), "criterion": written.criterion, "passed": written.passed})


def _read_object(body: bytes) -> dict[str, Any]:
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        data = None
    if not isinstance(data, dict):
        raise Refusal(400, "bad_json", "the body is a JSON object")
    return data
