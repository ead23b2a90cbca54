"""The exercise of the conformance suite from files beside a simulator: requests, and the chart they start from."""

from pathlib import Path
from typing import Any

import orjson

from clerkship.model.dataset import Dataset
from clerkship.sandbox.request import QueryParams, Request


def load_requests(folder: Path) -> tuple[Request, ...]:
    """Return the requests in `exercise.json`. A body is JSON (`body`), or any other text (`text`)."""
    return tuple(map(_build_request, orjson.loads((folder / "exercise.json").read_bytes())))


def _build_request(row: dict[str, Any]) -> Request:
    headers = row.get("headers", {}) | ({"content-type": row["media"]} if "media" in row else {})
    body = orjson.dumps(row["body"]) if "body" in row else row.get("text", "").encode()
    return Request(row["method"], row["path"], QueryParams(tuple(row.get("query", {}).items())), headers, body)


def load_chart_lines(name: str, folder: Path) -> Dataset:
    """Return the FHIR resources in `exercise.ndjson` as a dataset."""
    return Dataset(name=name, type="fhir", lines=tuple((folder / "exercise.ndjson").read_bytes().splitlines()))
