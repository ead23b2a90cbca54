"""Published versions by the interface: who gets which form, and which archives are taken."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from clerkship.service.serving.server import Server
from clerkship.suite_files.published.archive import open_archive
from tests.api.conftest import Clients
from tests.suite_files.small_archive import build_small_archive, publish_suite, write_suite

ZIP = {"content-type": "application/zip"}
ADDRESS = "/v1/published/note@1"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return build_small_archive(tmp_path_factory.mktemp("note"))


@pytest.fixture
def served(clients: Clients, archive: bytes) -> Clients:
    assert clients.person.put(f"{ADDRESS}/archive", content=archive, headers=ZIP).status_code == 201
    return clients


def test_uploaded_version_is_listed_described_and_returned_byte_for_byte(served: Clients, archive: bytes) -> None:
    listed = served.person.get("/v1/published", params={"slug": "note"}).json()["data"]
    assert [(each["id"], each["tasks"], each["withdrawn"]) for each in listed] == [("note@1", 1, None)]
    answer = served.person.get(ADDRESS)
    card = answer.json()
    assert card.items() >= listed[0].items()
    assert (card["interfaces"], card["axes"], card["signature"]) == ({"files": 1}, {"": 1}, "not signed")
    assert "path" not in answer.text
    assert served.person.get(ADDRESS, headers={"if-none-match": answer.headers["etag"]}).status_code == 304
    assert served.person.get("/v1/published/note@latest").json()["id"] == "note@1"
    download = served.person.get(f"{ADDRESS}/archive")
    assert (download.content, download.headers["content-type"]) == (archive, "application/zip")
    assert 'filename="note@1.clerkship"' in download.headers["content-disposition"]
    manifest = served.person.get(f"{ADDRESS}/manifest").json()
    assert any(name.startswith("sources/") for name in manifest["entries"])


def test_agents_get_the_form_that_publish_writes_for_agents(served: Clients, tmp_path: Path) -> None:
    written = publish_suite(write_suite(tmp_path / "suite"), tmp_path / "to", for_agents=True)[1]
    for _ in range(2):  # it is made once, and kept
        download = served.solver.get(f"{ADDRESS}/archive")
        assert download.content == written.path.read_bytes()
    assert "for-agents" in download.headers["content-disposition"]
    manifest = served.solver.get(f"{ADDRESS}/manifest").json()
    assert manifest["for_agents"] is True
    assert [name for name in manifest["entries"] if name.startswith("sources/")] == []
    assert "Maria" not in served.solver.get(ADDRESS).text


def test_version_that_is_there_is_taken_again_only_with_the_same_content(
    served: Clients, archive: bytes, tmp_path: Path, server: Server
) -> None:
    again = served.person.put(f"{ADDRESS}/archive", content=archive, headers=ZIP)
    assert (again.status_code, again.json()["id"]) == (200, "note@1")
    suite = write_suite(tmp_path / "suite")
    task = suite / "tasks" / "note.yml"
    task.write_text(task.read_text().replace("Answer with", "Write"))
    other = publish_suite(suite, tmp_path / "to")[0].path.read_bytes()
    refused = served.person.put(f"{ADDRESS}/archive", content=other, headers=ZIP)
    assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    assert "note@2" in refused.json()["detail"]
    assert served.person.get(f"{ADDRESS}/archive").content == archive
    assert [path.name for path in server.published.folder.iterdir()] == ["note@1.clerkship"]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("note@2", lambda data: data, "contains note@1"),
        ("..%2Fnote@1", lambda data: data, ""),
        ("note@1", lambda data: data[:-100], ""),
        ("note@1", lambda data: data.replace("Maria López".encode(), "Maria Lópex".encode()), "was changed"),
        ("note@1", lambda data: b"", ""),
        ("note@1", lambda data: b"PK\x03\x04" + b"\0" * 1000, ""),
    ],
)
def test_archive_that_the_reader_refuses_is_not_kept(
    name: str, change: Callable[[bytes], bytes], message: str, clients: Clients, server: Server, archive: bytes
) -> None:
    answer = clients.person.put(f"/v1/published/{name}/archive", content=change(archive), headers=ZIP)
    assert answer.status_code in (400, 404)
    assert message in answer.json()["detail"]
    assert str(server.folder) not in answer.text
    assert not server.published.folder.exists() or list(server.published.folder.iterdir()) == []


def test_archive_over_the_limit_is_refused_before_it_is_written(
    clients: Clients, server: Server, monkeypatch: pytest.MonkeyPatch, archive: bytes
) -> None:
    monkeypatch.setattr("clerkship.api.routes.published.MAX_ARCHIVE_BYTES", 1000)
    for content in (archive, iter([archive[:900], archive[900:]])):
        answer = clients.person.put(f"{ADDRESS}/archive", content=content, headers=ZIP)
        assert (answer.status_code, answer.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert list(server.published.folder.iterdir()) == []


def test_form_for_agents_is_not_taken_as_the_complete_version(clients: Clients, tmp_path: Path) -> None:
    written = publish_suite(write_suite(tmp_path / "suite"), tmp_path / "to", for_agents=True)[1]
    answer = clients.person.put(f"{ADDRESS}/archive", content=written.path.read_bytes(), headers=ZIP)
    assert (answer.status_code, "complete version" in answer.json()["detail"]) == (400, True)


def test_withdrawn_version_can_be_read_and_restored_but_not_used(served: Clients, server: Server) -> None:
    empty = served.person.post(f"{ADDRESS}/withdraw", json={"reason": " "})
    assert empty.status_code == 400
    withdrawn = served.person.post(f"{ADDRESS}/withdraw", json={"reason": "a wrong date"}).json()["withdrawn"]
    assert withdrawn["reason"] == "a wrong date"
    assert served.solver.get(ADDRESS).json()["withdrawn"] == withdrawn
    with pytest.raises(Exception, match="was withdrawn: a wrong date"):
        server.published.get_usable("note@1")
    assert served.person.post(f"{ADDRESS}/restore").json()["withdrawn"] is None
    assert server.published.get_usable("note@1").manifest.name == "note@1"
    again = served.person.post(f"{ADDRESS}/restore")
    assert (again.status_code, again.json()["detail"]) == (409, "note@1 is not withdrawn")


def test_latest_is_the_newest_that_is_not_withdrawn(served: Clients, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite")
    for number in (10, 9):
        data = publish_suite(suite, tmp_path / "to", f"note@{number}")[0].path.read_bytes()
        assert served.person.put(f"/v1/published/note@{number}/archive", content=data, headers=ZIP).status_code == 201
    assert served.person.get("/v1/published/note@latest").json()["id"] == "note@10"
    served.person.post("/v1/published/note@10/withdraw", json={"reason": "x"})
    assert served.person.get("/v1/published/note@latest").json()["id"] == "note@9"
    pages = [served.person.get("/v1/published", params={"limit": 2}).json()]
    pages.append(served.person.get("/v1/published", params={"cursor": pages[0]["_meta"]["next"]}).json())
    names = [each["id"] for page in pages for each in page["data"]]
    assert {"note@1", "note@9", "note@10"} <= set(names)
    assert len(names) == len(set(names))


def test_shipped_version_is_served_unpacked(
    clients: Clients, archive: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "note@1.clerkship.gz").write_bytes(gzip.compress(archive))
    monkeypatch.setattr("clerkship.service.serving.published.SHIPPED", shipped)
    assert [each["id"] for each in clients.person.get("/v1/published").json()["data"]] == ["note@1"]
    assert clients.person.get(f"{ADDRESS}/archive").content == archive
    received = tmp_path / "received.clerkship"
    received.write_bytes(clients.solver.get(f"{ADDRESS}/archive").content)
    assert open_archive(received).manifest.for_agents
    assert clients.person.put(f"{ADDRESS}/archive", content=archive, headers=ZIP).status_code == 200
    assert sorted(path.name for path in shipped.iterdir()) == ["note@1.clerkship.gz"]
