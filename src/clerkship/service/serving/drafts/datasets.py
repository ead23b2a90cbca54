"""Datasets of drafts whose content is sent with them: as files, or as resources in JSON."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import orjson

from clerkship.model.errors import InputError, InputProblem
from clerkship.service.serving.drafts.objects import Place, StoredObject

_FOLDER = "datasets"


def attach_files(
    data: Mapping[str, Any], place: Place, uploaded: Mapping[str, bytes] | None
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the definition of a dataset that names the files of its content, and these files, beside its own.

    The content is what was uploaded, or the resources under `data`: one, a Bundle, or a list.
    """
    definition = {key: value for key, value in data.items() if key != "data"}
    path = PurePosixPath(place.file)
    if uploaded:
        is_single = data.get("type") == "fax_texts" and len(uploaded) == 1
        definition |= {"file": f"{path.stem}/{next(iter(uploaded))}"} if is_single else {"folder": path.stem}
        return definition, {f"{path.with_suffix('')}/{name}": content for name, content in uploaded.items()}
    if "data" not in data:
        return definition, {}
    resources = data["data"]
    if not isinstance(resources, dict | list):
        raise InputError([InputProblem(key="data", message="expected a resource, a Bundle, or a list of resources")])
    lines = [orjson.dumps(item) + b"\n" for item in (resources if isinstance(resources, list) else [resources])]
    return {"type": "fhir", **definition, "file": f"{path.stem}.ndjson"}, {
        f"{path.with_suffix('.ndjson')}": b"".join(lines)
    }


def get_upload_folder(stored: StoredObject) -> str:
    """Return the folder of the files that were uploaded for an object; empty if there is none."""
    path = PurePosixPath(stored.place.file)
    is_own = stored.kind == "dataset" and path.parent.as_posix() == _FOLDER and stored.view.get("folder") == path.stem
    return f"{path.with_suffix('')}/" if is_own else ""
