"""Apply JSON Patch (RFC 6902) with the `jsonpatch` library, within limits on the result."""

from typing import TYPE_CHECKING, Any

from clerkship.formats.fhir.issue import FhirError, Issue, fhir_error
from clerkship.simulators.fhir.body import MAX_RESOURCE_ELEMENTS, count_elements, measure_depth

if TYPE_CHECKING:
    from jsonpatch import PatchOperation

MAX_OPERATIONS = 1000
MAX_PATCHED_ELEMENTS = MAX_RESOURCE_ELEMENTS
"""Elements that one patch may add, move and copy. Without a limit, copies of copies double with each operation."""
MAX_DEPTH = 200
_CONTAINERS = (dict, list)
_REQUIRED_MEMBERS = {
    "add": ("path", "value"),
    "remove": ("path",),
    "replace": ("path", "value"),
    "move": ("path", "from"),
    "copy": ("path", "from"),
    "test": ("path", "value"),
}


class PatchLimitExceeded(Exception):
    """An operation would exceed a limit."""


def check_patch(operations: Any) -> None:
    """Check that operations form a JSON Patch; raise FhirError with all mistakes."""
    if not isinstance(operations, list) or not operations:
        raise fhir_error("structure", "a JSON Patch must be an array of operations (RFC 6902 §3)")
    if len(operations) > MAX_OPERATIONS:
        raise fhir_error("too-costly", f"a patch may have at most {MAX_OPERATIONS} operations")
    issues = [issue for number, operation in enumerate(operations) for issue in _find_issues(number, operation)]
    if issues:
        raise FhirError(*issues)


def _find_issues(number: int, operation: Any) -> list[Issue]:
    if not isinstance(operation, dict):
        return [Issue("error", "structure", f"operation {number} is not an object")]
    name = operation.get("op")
    if not isinstance(name, str) or name not in _REQUIRED_MEMBERS:
        return [Issue("error", "value", f"operation {number}: `op` must be one of {', '.join(_REQUIRED_MEMBERS)}")]
    missing = [key for key in _REQUIRED_MEMBERS[name] if key not in operation]
    if missing:
        return [Issue("error", "required", f"operation {number}: `{name}` needs `{missing[0]}`")]
    pointers = [operation[key] for key in ("path", "from") if key in _REQUIRED_MEMBERS[name]]
    if not all(isinstance(pointer, str) and (not pointer or pointer.startswith("/")) for pointer in pointers):
        return [Issue("error", "value", f"operation {number}: a path must be empty or begin with `/` (RFC 6901 §3)")]
    return []


def apply_patch(document: Any, operations: list[dict[str, Any]], depth: int = MAX_DEPTH) -> Any:
    """Apply operations to a document in place and return it; raise FhirError at the first that fails."""
    from jsonpatch import JsonPatch, JsonPatchException, JsonPatchTestFailed, JsonPointerException  # noqa: PLC0415  (17 ms)

    remaining = MAX_PATCHED_ELEMENTS
    for number, operation in enumerate(operations):
        try:
            parsed = JsonPatch.operations[operation["op"]](operation)
            remaining -= _count_added_elements(document, parsed, remaining, depth)
            document = parsed.apply(document)
        except (PatchLimitExceeded, JsonPatchException, JsonPointerException) as error:
            reason = "the value differs" if isinstance(error, JsonPatchTestFailed) else error
            message = f"operation {number} ({operation['op']} {operation['path']}): {reason}"
            raise fhir_error("processing", message) from None
    return document


def _count_added_elements(document: Any, parsed: "PatchOperation", remaining: int, depth: int) -> int:
    """Count the elements that an operation adds, before it is applied; raise PatchLimitExceeded if a limit is exceeded.

    Without this check, several small operations can build a resource that is too large or too deep to process.
    """
    operation = parsed.operation
    name = operation["op"]
    if name == "remove":
        return 0
    is_moved = name in ("move", "copy")
    value = parsed.pointer_cls(operation["from"]).resolve(document) if is_moved else operation["value"]
    is_nested = isinstance(value, _CONTAINERS)
    if len(parsed.pointer.parts) + (measure_depth(value, depth) if is_nested else 0) > depth:
        raise PatchLimitExceeded(f"the resource would be nested more than {depth} levels deep")
    if name == "test":
        return 0
    count = count_elements(value, remaining) if is_nested else 1
    if count > remaining:
        raise PatchLimitExceeded(f"the patch adds, moves and copies more than {MAX_PATCHED_ELEMENTS:,} elements")
    return count
