"""The exercise of the conformance suite from files beside a simulator: requests, and the chart they start from."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from clerkship.model.dataset import Dataset
from clerkship.sandbox.request import QueryParams, Request


def load_requests(folder: Path, values: Mapping[str, str] = MappingProxyType({})) -> tuple[Request, ...]:
    """Return the requests in `exercise.json`. A body is JSON (`body`), or any other text (`text`).

    `«name»` in the file stands for a value, such as an id that an earlier request will get.
    """
    text = (folder / "exercise.json").read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"«{name}»", value)
    return tuple(map(_build_request, orjson.loads(text)))


def _build_request(row: dict[str, Any]) -> Request:
    headers = row.get("headers", {}) | ({"content-type": row["media"]} if "media" in row else {})
    body = orjson.dumps(row["body"]) if "body" in row else row.get("text", "").encode()
    return Request(row["method"], row["path"], QueryParams(tuple(row.get("query", {}).items())), headers, body)


def load_chart_lines(name: str, folder: Path) -> Dataset:
    """Return the FHIR resources in `exercise.ndjson` as a dataset."""
    return Dataset(name=name, type="fhir", lines=tuple((folder / "exercise.ndjson").read_bytes().splitlines()))
