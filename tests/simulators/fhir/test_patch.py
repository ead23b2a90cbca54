"""JSON Patch: the examples of RFC 6902, the rules of R4, and refusals."""

import copy
from typing import Any

import pytest

from clerkship.formats.fhir.issue import FhirError
from clerkship.simulators.fhir.json_patch import apply_patch, check_patch
from tests.simulators.fhir.server import Server


def apply_to_copy(document: Any, *operations: dict[str, Any]) -> Any:
    """Return a patched copy of a document."""
    check_patch(list(operations))
    return apply_patch(copy.deepcopy(document), list(operations))


@pytest.mark.parametrize(
    ("document", "operation", "after"),
    [
        ({"foo": "bar"}, {"op": "add", "path": "/baz", "value": "qux"}, {"baz": "qux", "foo": "bar"}),
        ({"foo": ["bar", "baz"]}, {"op": "add", "path": "/foo/1", "value": "qux"}, {"foo": ["bar", "qux", "baz"]}),
        ({"foo": ["bar"]}, {"op": "add", "path": "/foo/-", "value": ["abc", "def"]}, {"foo": ["bar", ["abc", "def"]]}),
        ({"foo": "bar"}, {"op": "add", "path": "/foo", "value": None}, {"foo": None}),
        ({"foo": 1}, {"op": "add", "path": "", "value": [2]}, [2]),
        ({"baz": "qux", "foo": "bar"}, {"op": "remove", "path": "/baz"}, {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, {"op": "remove", "path": "/foo/1"}, {"foo": ["bar", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, {"op": "replace", "path": "/baz", "value": "boo"}, {"baz": "boo", "foo": "bar"}),
        ({"foo": [1, 2]}, {"op": "replace", "path": "/foo/0", "value": 3}, {"foo": [3, 2]}),
        (
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            {"op": "move", "from": "/foo/waldo", "path": "/qux/thud"},
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
        ),
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            {"op": "move", "from": "/foo/1", "path": "/foo/3"},
            {"foo": ["all", "cows", "eat", "grass"]},
        ),
        ({"a": 1}, {"op": "move", "from": "/a", "path": "/a"}, {"a": 1}),
        ({"a": {"b": 1}}, {"op": "copy", "from": "/a", "path": "/c"}, {"a": {"b": 1}, "c": {"b": 1}}),
        (
            {"baz": "qux", "foo": ["a", 2, "c"]},
            {"op": "test", "path": "/foo/1", "value": 2.0},
            {"baz": "qux", "foo": ["a", 2, "c"]},
        ),
        ({"/": 9, "~1": 10}, {"op": "test", "path": "/~01", "value": 10}, {"/": 9, "~1": 10}),
        ({"/": 9}, {"op": "replace", "path": "/~1", "value": 8}, {"/": 8}),
    ],
)
def test_patch_operations_follow_rfc_6902(document: Any, operation: dict[str, Any], after: Any) -> None:
    assert apply_to_copy(document, operation) == after


@pytest.mark.parametrize(
    ("document", "operation"),
    [
        ({"a": 1}, {"op": "remove", "path": "/b"}),
        ({"a": 1}, {"op": "replace", "path": "/b", "value": 1}),
        ({"a": 1}, {"op": "add", "path": "/b/c", "value": 1}),
        ({"a": [1]}, {"op": "add", "path": "/a/2", "value": 1}),
        ({"a": [1]}, {"op": "add", "path": "/a/01", "value": 1}),
        ({"a": [1]}, {"op": "remove", "path": "/a/-"}),
        ({"a": [1]}, {"op": "replace", "path": "/a/x", "value": 1}),
        ({"a": 1}, {"op": "add", "path": "/a/b", "value": 1}),
        ({"a": {"b": 1}}, {"op": "move", "from": "/a", "path": "/a/b"}),
        ({"a": 1}, {"op": "copy", "from": "/b", "path": "/c"}),
        ({"a": True}, {"op": "test", "path": "/a", "value": 1}),
        ({"a": "10"}, {"op": "test", "path": "/a", "value": 10}),
        ({"a": {"b": [1]}}, {"op": "test", "path": "/a", "value": {"b": [2]}}),
        ({"a": 1}, {"op": "remove", "path": ""}),
        ({"a": 1}, {"op": "add", "path": "/~", "value": 1}),
        ({"a": 1}, {"op": "add", "path": "/~2", "value": 1}),
        ({"a": [1]}, {"op": "add", "path": "/a/-/b", "value": 1}),
        ({"a": [1]}, {"op": "test", "path": "/a/-", "value": 1}),
        ({"a": [1]}, {"op": "copy", "from": "/a/-", "path": "/b"}),
        ({"a": [1]}, {"op": "move", "from": "/a/-", "path": "/b"}),
        ({"a": "text"}, {"op": "test", "path": "/a/0", "value": "t"}),
        ({"a": [1]}, {"op": "test", "path": f"/a/{'1' * 5000}", "value": 1}),
        ({"a": [1]}, {"op": "remove", "path": "/a/٠"}),
        ({"a": {"__class__": 1}}, {"op": "remove", "path": "/a/__len__"}),
    ],
)
def test_operation_that_cannot_be_applied_is_refused(document: Any, operation: dict[str, Any]) -> None:
    with pytest.raises(FhirError, match="operation 0"):
        apply_to_copy(document, operation)


@pytest.mark.parametrize(
    "operations",
    [
        {},
        [],
        ["add"],
        [{"op": "spam", "path": "/a"}],
        [{"op": ["add"], "path": "/a"}],
        [{"op": "add", "path": "/a"}],
        [{"op": "add", "path": "a", "value": 1}],
        [{"op": "add", "path": 5, "value": 1}],
        [{"op": "move", "path": "/a"}],
        [{"op": "remove", "path": "/a"}] * 1001,
    ],
)
def test_malformed_patch_is_refused(operations: Any) -> None:
    server = Server()
    with server.assert_unchanged():
        assert server.send("PATCH", "Patient/ada", operations).status in (400, 415)


def test_repeated_copies_hit_element_limit() -> None:
    doubling = [{"op": "copy", "from": "", "path": f"/a{number}"} for number in range(40)]
    with pytest.raises(FhirError, match="adds, moves and copies more than 100,000 elements"):
        apply_patch({"a": [1, 2, 3]}, doubling)


def test_patch_is_atomic() -> None:
    server = Server()
    good = {"op": "replace", "path": "/birthDate", "value": "1965-03-16"}
    for bad in (
        {"op": "test", "path": "/name/0/family", "value": "Other"},
        {"op": "remove", "path": "/deceasedBoolean"},
        {"op": "replace", "path": "/id", "value": "eve"},
        {"op": "replace", "path": "/resourceType", "value": "Person"},
        {"op": "replace", "path": "", "value": []},
    ):
        with server.assert_unchanged():
            answer = server.send("PATCH", "Patient/ada", [good, bad])
            assert answer.status == 422, bad
    with server.assert_unchanged():
        unfit = server.send("PATCH", "Patient/ada", [good, {"op": "add", "path": "/gender", "value": "x"}])
        assert unfit.status == 400
        lost = {"op": "add", "path": "/managingOrganization", "value": {"reference": "Organization/none"}}
        assert server.send("PATCH", "Patient/ada", [good, lost]).status == 422
    assert server.send("PATCH", "Patient/ada", [good]).json["birthDate"] == "1965-03-16"


def test_patch_cannot_change_type_or_id() -> None:
    server = Server()
    operations = [{"op": "add", "path": "/active", "value": True}]
    with server.assert_unchanged():
        assert server.send("PATCH", "Patient/zoe", operations).status == 404
        assert server.send("PATCH", "Patents/ada", operations).status == 404
        assert server.send("PATCH", "Patient/ada", operations, content_type="application/xml-patch+xml").status == 415
        parameters = {"resourceType": "Parameters"}
        assert server.send("PATCH", "Patient/ada", parameters, content_type="application/fhir+json").status == 415


def build_nested(levels: int) -> dict[str, Any]:
    """Return nested objects."""
    made: dict[str, Any] = {}
    for _ in range(levels - 1):
        made = {"a": made}
    return made


@pytest.mark.parametrize(
    "last",
    [
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "test", "path": "/a", "value": {}},
        {"op": "move", "from": "/a", "path": "/b"},
        {"op": "replace", "path": "/a", "value": 1},
    ],
)
def test_patch_of_many_operations_cannot_exceed_depth_limit(last: dict[str, Any]) -> None:
    deeper = [{"op": "add", "path": "/a" * (1 + 95 * step), "value": build_nested(95)} for step in range(20)]
    server = Server()
    with server.assert_unchanged():
        answer = server.send("PATCH", "Patient/ada", [*deeper, last])
        assert (answer.status, answer.codes) == (422, ["processing"])
        assert "nested more than 100 levels deep" in answer.json["issue"][0]["diagnostics"]


@pytest.mark.parametrize("op", ["add", "copy", "move", "replace"])
def test_depth_limit_is_exact(op: str) -> None:
    step = {"op": op, "path": "/x/y", "value": build_nested(8)} if op in ("add", "replace") else {}
    step = step or {"op": op, "path": "/x/y", "from": "/deep"}
    document = {"x": {"y": 1}, "deep": build_nested(8)}
    assert apply_patch(copy.deepcopy(document), [step], 10)["x"]["y"] == build_nested(8)
    with pytest.raises(FhirError, match="nested more than 9 levels deep"):
        apply_patch(copy.deepcopy(document), [step], 9)
    assert apply_patch(build_nested(9), [{"op": "add", "path": "/a" * 9, "value": 1}], 9) != build_nested(9)


@pytest.mark.parametrize("op", ["add", "replace", "test"])
def test_too_deep_value_is_refused_before_copying(op: str) -> None:
    with pytest.raises(FhirError, match=r"operation 0 .*nested more than"):
        apply_patch({"a": build_nested(150)}, [{"op": op, "path": "/a", "value": build_nested(20_000)}])


def test_failed_test_operation_does_not_repeat_values() -> None:
    with pytest.raises(FhirError, match=r"operation 0 \(test /a\): the value differs$"):
        apply_patch({"a": list(range(1000))}, [{"op": "test", "path": "/a", "value": []}])


def test_patch_does_not_change_its_operations() -> None:
    operations: list[dict[str, Any]] = [
        {"op": "add", "path": "/a", "value": {}},
        {"op": "add", "path": "/a/b", "value": 1},
    ]
    assert apply_patch({}, operations) == apply_patch({}, operations) == {"a": {"b": 1}}
    assert operations[0]["value"] == {}
