"""FHIR datasets: formats, conversion, and errors."""

import gzip
import shutil
from itertools import permutations
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.formats.fhir.resource import parse_resource
from clerkship.model.dataset import Dataset
from clerkship.model.errors import InputError
from clerkship.suite_files.load import load_library
from tests.suite_files.library_folder import CATALOG, LibraryFolder

SYNTHEA = Path(__file__).parent / "synthea"
PLACE = """
environment: {name: clinic, now: 2026-03-02T09:00:00-05:00, datasets: [d], simulators: {ehr: {kind: fhir}}}
task: {name: T}
"""
ROSA = "Patient/c0ffee00-1111-4222-8333-000000000010"
OKAFOR = "Practitioner/5e2f4d3c-0001-3a77-9b6e-77c0aa120002"


@pytest.fixture
def workspace(tmp_path: Path) -> LibraryFolder:
    """A folder with an environment and a task, without a dataset."""
    workspace = LibraryFolder(tmp_path)
    workspace.write("place.yml", PLACE)
    return workspace


def dataset(workspace: LibraryFolder, text: str, **files: Any) -> Dataset:
    """Return the loaded dataset with these keys."""
    write(workspace, text, **files)
    return workspace.load().datasets["d"]


def find_problems(workspace: LibraryFolder, text: str, **files: Any) -> list[str]:
    """Return the problems of a dataset with these keys."""
    write(workspace, text, **files)
    return workspace.lines()


def write(workspace: LibraryFolder, text: str, **files: Any) -> None:
    """Write a dataset and files beside it; `__` in a name is a dot."""
    workspace.write("d.yml", f"dataset: {{name: d, type: fhir, {text}}}\n")
    for name, content in files.items():
        path = workspace.root / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))


def resources(dataset: Dataset) -> dict[str, Any]:
    """Return the resources by key."""
    found = [parse_resource(line) for line in dataset.lines or ()]
    return {f"{resource['resourceType']}/{resource['id']}": resource for resource in found}


def patient(id: str, **more: Any) -> dict[str, Any]:
    return {"resourceType": "Patient", "id": id, **more}


def bundle(type: str, *entries: Any) -> dict[str, Any]:
    return {"resourceType": "Bundle", "type": type, "entry": list(entries)}


def test_inline_resources_get_meta_and_keep_their_order(workspace: LibraryFolder) -> None:
    found = dataset(
        workspace, "records: [{resourceType: Patient, id: b}, {resourceType: Patient, id: a, active: true}]"
    )
    assert found.lines == (
        b'{"resourceType":"Patient","id":"a","meta":{"lastUpdated":"2000-01-01T00:00:00.000Z","versionId":"1"},'
        b'"active":true}',
        b'{"resourceType":"Patient","id":"b","meta":{"lastUpdated":"2000-01-01T00:00:00.000Z","versionId":"1"}}',
    )
    again = Dataset.parse("d", found.data)
    assert (again, again.hash) == (found, found.hash)


def test_given_version_and_time_are_kept(workspace: LibraryFolder) -> None:
    meta = {"versionId": "7", "lastUpdated": "2025-01-01T00:00:00Z", "tag": [{"code": "x"}]}
    found = dataset(workspace, "file: p.json", p__json=patient("a", meta=meta))
    assert resources(found)["Patient/a"]["meta"] == meta


@pytest.mark.parametrize("type", ["collection", "searchset", "transaction", "batch", "document", "message"])
def test_bundles_of_each_type_are_unpacked(workspace: LibraryFolder, type: str) -> None:
    entries = [{"fullUrl": "http://x/Patient/a", "resource": patient("a")}, {"resource": patient("b")}]
    assert list(resources(dataset(workspace, "file: b.json", b__json=bundle(type, *entries)))) == [
        "Patient/a",
        "Patient/b",
    ]


def test_search_outcome_entries_are_skipped(workspace: LibraryFolder) -> None:
    said = {"search": {"mode": "outcome"}, "resource": {"resourceType": "OperationOutcome"}}
    found = dataset(workspace, "file: b.json", b__json=bundle("searchset", {"resource": patient("a")}, said))
    assert list(resources(found)) == ["Patient/a"]


def test_folder_can_mix_formats_and_skips_other_files(workspace: LibraryFolder) -> None:
    write(workspace, "folder: data")
    files = {
        "a.json": orjson.dumps(patient("a")),
        "deep/er/b.ndjson": b'{"resourceType":"Patient","id":"b"}\r\n\n  \n{"resourceType":"Patient","id":"c"}',
        "d.json.gz": gzip.compress(orjson.dumps(bundle("collection", {"resource": patient("d")}))),
        "e.ndjson.gz": gzip.compress(b'{"resourceType":"Patient","id":"e"}\n'),
        "f.json": b"\xef\xbb\xbf" + orjson.dumps(patient("f")),
        "README.md": b"not FHIR",
        ".hidden/x.json": b"not JSON",
    }
    for name, data in files.items():
        path = workspace.root / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert list(resources(workspace.load().datasets["d"])) == [f"Patient/{id}" for id in "abcdef"]


def test_synthea_bundles_are_loaded(workspace: LibraryFolder) -> None:
    shutil.copytree(SYNTHEA, workspace.root / "data")
    found = resources(dataset(workspace, "folder: data"))
    assert len(found) == 8
    encounter = found["Encounter/c0ffee00-1111-4222-8333-000000000011"]
    assert encounter["subject"] == {"reference": ROSA, "display": "Mrs. Rosa Delgado"}
    assert encounter["participant"][0]["individual"]["reference"] == OKAFOR
    assert encounter["serviceProvider"]["reference"].startswith("Organization/0a1b7c2e")
    document = found["DocumentReference/c0ffee00-1111-4222-8333-000000000013"]
    assert document["masterIdentifier"]["value"] == "urn:uuid:c0ffee00-1111-4222-8333-000000000013"  # no reference
    assert b'"value":71.50' in b"".join(workspace.load().datasets["d"].lines or ())
    assert workspace.load().warnings == ()


def test_order_of_files_does_not_matter(tmp_path: Path) -> None:
    names = sorted(path.name for path in SYNTHEA.glob("*.json"))
    hashes = set()
    for number, order in enumerate(permutations(names)):
        workspace = LibraryFolder(tmp_path / str(number))
        workspace.write("place.yml", PLACE)
        (workspace.root / "data").mkdir()
        for place, name in enumerate(order):
            shutil.copy(SYNTHEA / name, workspace.root / "data" / f"{place}.json")
        hashes.add(dataset(workspace, "folder: data").hash)
    assert len(hashes) == 1


def test_synthea_patients_without_practitioners_report_what_is_missing(workspace: LibraryFolder) -> None:
    (workspace.root / "data").mkdir()
    shutil.copy(SYNTHEA / "Rosa_Delgado.json", workspace.root / "data")
    first = find_problems(workspace, "folder: data")[0]
    assert first.startswith("data/Rosa_Delgado.json:")
    assert "`Practitioner?identifier=" in first
    assert "none in this dataset matches" in first
    assert "add those files" in first
    workspace.write("d.yml", "dataset: {name: d, type: fhir, folder: data, validation: lenient}\n")
    assert len(resources(workspace.load().datasets["d"])) == 4


def test_conditional_create_adds_a_resource_once(workspace: LibraryFolder) -> None:
    def entry(id: str, **more: Any) -> dict[str, Any]:
        resource = {"resourceType": "Organization", "id": id, "identifier": [{"system": "s", "value": "1"}], **more}
        request = {"method": "POST", "url": "Organization", "ifNoneExist": "identifier=s%7C1"}
        return {"fullUrl": f"urn:uuid:{id}", "resource": resource, "request": request}

    visit = {"resourceType": "Patient", "id": "p", "managingOrganization": {"reference": "urn:uuid:o2"}}
    one = bundle("transaction", entry("o1", name="One"))
    two = bundle("transaction", entry("o2", name="Two"), {"fullUrl": "urn:uuid:p", "resource": visit})
    found = resources(dataset(workspace, "folder: data", data__x=b"", **{"data/1__json": one, "data/2__json": two}))
    assert list(found) == ["Organization/o1", "Patient/p"]
    assert found["Patient/p"]["managingOrganization"]["reference"] == "Organization/o1"


def test_full_urls_of_a_bundle_become_references(workspace: LibraryFolder) -> None:
    base = "https://ehr.example/fhir"
    seen: dict[str, Any] = {"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "x"}}
    seen |= {"subject": {"reference": f"{base}/Patient/a"}, "focus": [{"reference": f"{base}/Patient/a/_history/2"}]}
    seen |= {"performer": [{"reference": "https://elsewhere.example/Practitioner/z"}]}
    entries = [{"fullUrl": f"{base}/Patient/a", "resource": patient("a")}, {"resource": seen}]
    found = resources(dataset(workspace, "file: b.json", b__json=bundle("collection", *entries)))["Observation/o"]
    assert found["subject"]["reference"] == "Patient/a"
    assert found["focus"][0]["reference"] == "Patient/a/_history/2"
    assert found["performer"][0]["reference"] == "https://elsewhere.example/Practitioner/z"


def test_urn_refers_to_the_same_bundle(workspace: LibraryFolder) -> None:
    def part(name: str) -> dict[str, Any]:
        person = {"fullUrl": "urn:uuid:1", "resource": patient(f"p-{name}")}
        seen = {"resourceType": "Observation", "id": f"o-{name}", "status": "final", "code": {"text": "x"}}
        return bundle("transaction", person, {"resource": {**seen, "subject": {"reference": "urn:uuid:1"}}})

    files = {"data/1__json": part("a"), "data/2__json": part("b")}
    found = resources(dataset(workspace, "folder: data", **files))
    assert {found[f"Observation/o-{n}"]["subject"]["reference"] for n in "ab"} == {"Patient/p-a", "Patient/p-b"}


def test_missing_id_is_derived_from_full_url_or_content(workspace: LibraryFolder) -> None:
    nameless = {"resourceType": "Patient", "gender": "female"}
    entries = [
        {"fullUrl": "urn:uuid:0f9d4b3e-0000-4000-8000-00000000000a", "resource": {"resourceType": "Patient"}},
        {"resource": {"resourceType": "Patient"}, "request": {"method": "PUT", "url": "Patient/put-1"}},
        {"fullUrl": "https://x/fhir/Patient/from-url", "resource": {"resourceType": "Patient"}},
        {"resource": nameless},
        {"resource": nameless},
    ]
    found = dataset(workspace, "file: b.json", b__json=bundle("transaction", *entries))
    ids = [key.partition("/")[2] for key in resources(found)]
    assert {"0f9d4b3e-0000-4000-8000-00000000000a", "put-1", "from-url"} < set(ids)
    assert len(ids) == 4
    assert dataset(workspace, "file: b.json", b__json=bundle("batch", *reversed(entries))).hash == found.hash


def test_equal_duplicates_are_merged_and_different_ones_rejected(workspace: LibraryFolder) -> None:
    same = bundle("collection", {"resource": patient("a")}, {"resource": patient("a")})
    assert len(dataset(workspace, "file: b.json", b__json=same).lines or ()) == 1
    other = b'{"resourceType":"Bundle","type":"collection","entry":[\n'
    other += b'{"resource":{"resourceType":"Patient","id":"a"}},\n'
    other += b'{"resource":{"resourceType":"Patient","id":"a","active":true}}\n]}'
    assert find_problems(workspace, "file: b.json", b__json=other) == [
        "b.json:3:44: entry[1].resource.id: two different resources have the key Patient/a; "
        "the other is at b.json:2:13 (entry[0].resource)"
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"resourceType":"Patient",\n "id": }', "x.json:2:8: not valid JSON: unexpected character"),
        (b"", "x.json:1:1: not valid JSON: Input is a zero-length, empty document"),
        (b"[{}]", "x.json:1:1: expected a resource, not a list; put each resource on its own line of an .ndjson file"),
        (b"7", "x.json:1:1: expected a resource, a map with `resourceType`"),
        (b'{"id":"a"}', "x.json:1:1: resourceType: `resourceType` is missing"),
        (b'{"resourceType":"Pateint"}', "resourceType: unknown resource type 'Pateint'; did you mean `Patient`?"),
        (b'{"resourceType":"Patient","id":"a b"}', "id: 'a b' is not an id; an id has 1 to 64"),
        (b'{"resourceType":"Patient","id":7}', "id: '7' is not an id"),
        (b'{"resourceType":"Patient","birthDate":"2021-02-30"}', "x.json:1:39: birthDate: Patient/"),
        (b"\xff\xfe{\x00}\x00", "the file is not UTF-8 text; save it as UTF-8"),
        (b'{"resourceType":"Patient","id":"\xe9"}', "not valid JSON"),
        (b'{"resourceType":"Bundle","type":"history"}', "type: a Bundle of type history cannot be a dataset"),
        (b'{"resourceType":"Bundle","type":"batch","entry":{}}', "entry: expected a list of entries"),
        (b'{"resourceType":"Bundle","type":"batch","entry":[7]}', "entry[0]: expected an entry with a `resource`"),
        (b'{"resourceType":"Bundle","type":"batch","entry":[{}]}', "entry[0].resource: expected a resource"),
        (
            b'{"resourceType":"Bundle","type":"batch","entry":[{"request":{"method":"DELETE","url":"Patient/1"}}]}',
            "entry[0].request: an entry with method DELETE cannot be in a dataset; only PUT and POST are supported",
        ),
        (b'{"resourceType":"Patient","extension":' + b'[{"extension":' * 400 + b"[]" + b"}]" * 400 + b"}", "deep"),
        (b"[" * 100_000, "not valid JSON"),
    ],
)
def test_mistake_in_a_file_is_reported_with_its_place(workspace: LibraryFolder, data: bytes, message: str) -> None:
    [line, *_] = find_problems(workspace, "file: x.json", x__json=data)
    assert line.startswith("x.json:")
    assert message in line


def test_mistake_in_ndjson_is_reported_with_its_line(workspace: LibraryFolder) -> None:
    data = b'{"resourceType":"Patient","id":"a"}\n\nnope\n{"resourceType":"Patient","id":"b","gender":"f"}\n'
    first, second = find_problems(workspace, "file: x.ndjson", x__ndjson=data)
    assert first.startswith("x.ndjson:3:1: not valid JSON")
    assert second.startswith("x.ndjson:4:0: gender: Patient/b: ")


def test_mistake_in_inline_records_is_reported_with_its_place(workspace: LibraryFolder) -> None:
    workspace.write(
        "d.yml",
        """
        dataset:
          name: d
          type: fhir
          records:
            - {resourceType: Patient, id: a}
            - resourceType: Patient
              id: b
              birthDate: yesterday
        """,
    )
    [line] = workspace.lines()
    assert line.startswith("d.yml:9:18: records[1].birthDate: Patient/b: ")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("file: none.json", "dataset.file: none.json: there is no such file"),
        ("file: d.yml", "dataset.file: d.yml: its format is unknown; expected a name that ends in .json, .ndjson"),
        ("file: /etc/passwd", "dataset.file: /etc/passwd: it is outside the folder"),
        ("file: data", "dataset.file: data: it is not a file; use `folder` for a folder"),
        ("folder: d.yml", "dataset.folder: d.yml: it is not a folder"),
        ("folder: data", "dataset.folder: data: it contains no FHIR; expected files that end in"),
        ("file: bad.json.gz", "dataset.file: bad.json.gz: it cannot be read: not a complete gzip file"),
        ("file: cut.json.gz", "dataset.file: cut.json.gz: it cannot be read: not a complete gzip file"),
        ("description: x", "dataset: a dataset of type fhir needs `records`, `file`, `folder` or `generate`"),
        ("files: {a: b}, file: x.json", "dataset.files: unknown key `files`; did you mean `file`?"),
        ("file: x.json, as_of: 2026-01-01", "dataset.as_of: expected a time with its zone"),
        ("file: x.json, validation: loose", "dataset.validation: expected strict or lenient"),
        ("generate: {patients: 0}", "dataset.generate.patients: expected at least 1"),
    ],
)
def test_unreadable_dataset_is_rejected(workspace: LibraryFolder, keys: str, message: str) -> None:
    packed = gzip.compress(orjson.dumps(patient("a")) * 100)
    (workspace.root / "data").mkdir()
    files = {"bad__json__gz": b"not gzip", "cut__json__gz": packed[: len(packed) // 2]}
    assert any(message in line for line in find_problems(workspace, keys, **files))


def test_lenient_dataset_warns_of_invalid_resources(workspace: LibraryFolder) -> None:
    odd = patient("a", favouriteColour="blue", gender="f")
    assert len(find_problems(workspace, "file: x.json", x__json=odd)) == 2
    write(workspace, "file: x.json, validation: lenient", x__json=odd)
    assert len(workspace.warnings()) == 2
    assert resources(workspace.load().datasets["d"])["Patient/a"]["favouriteColour"] == "blue"


def test_broken_reference_is_a_warning(workspace: LibraryFolder) -> None:
    seen = [
        {"resourceType": "Observation", "id": f"o{n}", "status": "final", "code": {"text": "x"}, "subject": who}
        for n, who in enumerate([{"reference": "Patient/a"}, *[{"reference": f"Patient/{n}"} for n in range(5)]])
    ]
    data = b"\n".join(map(orjson.dumps, [patient("a"), *seen]))
    write(workspace, "file: x.ndjson", x__ndjson=data)
    [warning] = workspace.warnings()
    assert "5 references to Patient resources that are not in the dataset: Observation/o1 to Patient/0, " in warning
    assert warning.endswith(", …")


def test_dates_are_shifted_from_as_of_to_now(workspace: LibraryFolder) -> None:
    shutil.copytree(SYNTHEA, workspace.root / "data")
    found = resources(dataset(workspace, "folder: data, as_of: 2021-05-05T12:00:00-05:00"))
    assert found[ROSA]["birthDate"] == "1976-02-29"  # as many days before now as before then
    encounter = found["Encounter/c0ffee00-1111-4222-8333-000000000011"]
    assert encounter["period"] == {"start": "2026-03-01T09:15:00-04:00", "end": "2026-03-01T09:45:00-04:00"}
    document = found["DocumentReference/c0ffee00-1111-4222-8333-000000000013"]
    assert document["context"]["period"] == {"start": "2026-03", "end": "2026"}
    assert "2021-05-04." in found[ROSA]["text"]["div"]
    assert found[ROSA]["identifier"][1]["value"] == "MRN-2021"
    assert all(resource["meta"]["lastUpdated"] <= "2026-03-02T14:00:00Z" for resource in found.values())


def test_environments_with_different_now_cannot_share_shifted_dates(workspace: LibraryFolder) -> None:
    workspace.write("other.yml", "environment: {name: ward, now: 2026-04-01T09:00:00Z, datasets: [d]}\n")
    workspace.write("place.yml", PLACE.replace("name: T", "name: T, environment: clinic"))
    lines = find_problems(workspace, "file: x.json, as_of: 2026-01-01T00:00:00Z", x__json=patient("a"))
    assert lines == [
        "d.yml:1:53: dataset.as_of: the dates of `d` depend on `now`, which differs between its environments: "
        "ward at 2026-04-01T09:00:00+00:00, clinic at 2026-03-02T09:00:00-05:00; "
        "give them the same `now`, or each a dataset of its own"
    ]
    assert len(dataset(workspace, "file: x.json", x__json=patient("a")).lines or ()) == 1


def test_built_in_datasets_need_no_file(workspace: LibraryFolder) -> None:
    workspace.write("place.yml", PLACE.replace("[d]", "[clinic-100]"))
    found = workspace.load().datasets["clinic-100"]
    assert sum(line.startswith(b'{"resourceType":"Patient"') for line in found.lines or ()) >= 100
    assert workspace.load().datasets["clinic-100"].hash == found.hash
    workspace.write("other.yml", "environment: {name: ward, now: 2026-04-01T09:00:00Z, datasets: [clinic-100]}\n")
    workspace.write(
        "place.yml", PLACE.replace("[d]", "[clinic-100]").replace("name: T", "name: T, environment: clinic")
    )
    [line] = workspace.lines()
    assert "the dates of `clinic-100` depend on `now`" in line
    assert "with `generate: {patients: 100, seed: 7}`" in line


def test_stored_dataset_is_read_back(workspace: LibraryFolder) -> None:
    write(workspace, "file: x.json", x__json=patient("a"))
    library = workspace.load()
    snapshot = library.snapshot(library.tasks["T"], 60)
    found = library.datasets["d"]
    assert snapshot.datasets == {"d": found.hash}
    assert Dataset.parse("d", found.data).lines == found.lines


def test_dataset_folder_inside_a_task_folder_is_accepted(workspace: LibraryFolder) -> None:
    """A mistake in a dataset is reported once, not again for each task that uses it."""
    workspace.write("t.yml", "task: {name: U, entities: [{id: p, dataset: d}], task_item: {a: '{{ p.id }}'}}\n")
    assert (
        len(find_problems(workspace, "file: x.json", x__json={"resourceType": "Patient", "id": "a", "gender": "f"}))
        == 1
    )


def test_loading_without_a_cache_writes_nothing(workspace: LibraryFolder, cache: Path) -> None:
    before = sorted(cache.rglob("*"))
    write(workspace, "file: x.json", x__json=patient("a"))
    load_library(workspace.root, CATALOG)
    assert sorted(cache.rglob("*")) == before


def test_unknown_dataset_is_rejected(workspace: LibraryFolder) -> None:
    workspace.write("place.yml", PLACE.replace("[d]", "[clinic-10]"))
    with pytest.raises(InputError, match="unknown dataset `clinic-10`; did you mean `clinic-100`"):
        workspace.load()


def test_skipped_and_empty_files_are_listed(workspace: LibraryFolder, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name, text in {
        "a.ndjson": '{"resourceType": "Patient", "id": "a"}\n',
        "b.ndjson": " \n",
        "c.xml": "<Patient/>",
        "more/d.txt": "x",
        "README.md": "x",
        ".hidden/e.txt": "x",
    }.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(text)
    workspace.write("d.yml", "dataset: {name: d, type: fhir, folder: data}")
    for _ in range(2):  # once from the cache
        unread, empty = workspace.warnings()
        assert (
            "2 files are not read: c.xml, more/d.txt; only files that end in .json, .ndjson or .jsonl are read"
            in unread
        )
        assert "b.ndjson:1:0: the file is empty" in empty
