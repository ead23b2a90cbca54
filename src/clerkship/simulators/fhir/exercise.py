"""Requests that use every interaction of a FHIR server, and the dataset for them, from `exercise.json`."""

from pathlib import Path
from typing import Any

import orjson

from clerkship.formats.fhir.resource import render_resource
from clerkship.model.dataset import Dataset
from clerkship.sandbox.request import QueryParams, Request


def _build_request(row: dict[str, Any]) -> Request:
    headers = {"content-type": row["media"]} if "media" in row else {}
    body = orjson.dumps(row["body"]) if "body" in row else row.get("form", "").encode()
    return Request(row["method"], row["path"], QueryParams(tuple(row.get("query", {}).items())), headers, body)


_TABLE = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())
DATASET = Dataset(name="a small chart", type="fhir", lines=tuple(map(render_resource, _TABLE["chart"])))
EXERCISE = tuple(map(_build_request, _TABLE["requests"]))
