"""Signatures of published versions: who signed, whether it is trusted, and what is refused."""

import base64
import gzip
import os
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from clerkship.cli.app import run
from clerkship.kit import extras
from clerkship.model.errors import InputError
from clerkship.model.published import NOT_CHECKED
from clerkship.service.publishing import sign_published
from clerkship.settings import Settings, load_settings
from clerkship.suite_files.published.archive import Archive, open_archive
from clerkship.suite_files.published.reading import load_archive
from clerkship.suite_files.published.signing import (
    create_key_pair,
    describe_signature,
    describe_signer,
    load_private_key,
    load_public_key,
    sign_digest,
)
from tests.suite_files.small_archive import change_contents, publish_suite, write_suite


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "keys" / "clinic.pem"
    create_key_pair(path)
    return path


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite")


def publish_signed(suite: Path, key: Path | None, **options: Any) -> Archive:
    """Publish a suite, signed or not, beside it."""
    return open_archive(publish_suite(suite, suite.parent / "to", sign=key, **options)[0].path)


def test_pair_of_keys_is_private_and_public(key: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    public = load_public_key(key.with_name("clinic.pem.pub"))
    assert load_private_key(key).public_key() == public
    assert sorted(each.name for each in key.parent.iterdir()) == ["clinic.pem", "clinic.pem.pub"]


@pytest.mark.parametrize("existing", ["clinic.pem", "clinic.pem.pub"])
def test_existing_key_is_not_replaced(tmp_path: Path, existing: str) -> None:
    (tmp_path / existing).write_text("mine")
    with pytest.raises(InputError, match=f"{existing}: the file exists already"):
        create_key_pair(tmp_path / "clinic.pem")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["mine"]


def test_signature_is_the_same_each_time_and_keeps_the_digest(suite: Path, key: Path) -> None:
    unsigned = publish_signed(suite, None)
    signed = publish_signed(suite, key)
    assert signed.digest == unsigned.digest
    assert signed.path == unsigned.path
    first = signed.path.read_bytes()
    assert publish_signed(suite, key).path.read_bytes() == first
    signed.path.unlink()
    assert publish_signed(suite, key).path.read_bytes() == first
    assert orjson.loads(signed.signature).keys() == {"algorithm", "key_id", "public_key", "signature"}


def test_version_for_agents_is_signed_too(suite: Path, key: Path) -> None:
    published = publish_suite(suite, suite.parent / "to", sign=key, for_agents=True)
    states = [describe_signature(open_archive(each.path), Settings()).state for each in published]
    assert states == ["unknown", "unknown"]
    assert len({each.version.digest for each in published}) == 2


def test_trust_is_by_file_or_key_id(suite: Path, key: Path) -> None:
    archive = publish_signed(suite, key)
    public, key_id = str(key.with_name("clinic.pem.pub")), orjson.loads(archive.signature)["key_id"]
    unknown = describe_signature(archive, Settings(trusted_keys=("0" * 32,)))
    assert str(unknown) == f"signed by an unknown key ({key_id})"
    assert str(describe_signature(archive, Settings(trusted_keys=("0" * 32, key_id)))) == (
        f"signed by a trusted key ({key_id})"
    )
    settings = load_settings({"CLERKSHIP_TRUSTED_KEYS": f" {'0' * 32}, {public} ,"})
    assert str(describe_signature(archive, settings)) == f"signed by a trusted key (clinic.pem.pub, {key_id})"
    assert load_archive(archive.path).published == archive.version.model_copy(update={"signed_by": key_id})


def test_unsigned_version_says_so(suite: Path) -> None:
    archive = publish_signed(suite, None)
    assert str(describe_signature(archive, Settings(trusted_keys=("0" * 32,)))) == "not signed"
    published = load_archive(archive.path).published
    assert published is not None
    assert published.signed_by == ""


def test_signature_by_another_key_is_not_replaced(suite: Path, key: Path) -> None:
    archive = publish_signed(suite, key)
    other = key.with_name("other.pem")
    create_key_pair(other)
    before = archive.path.read_bytes()
    with pytest.raises(InputError, match=r"note@1 is signed by another key already: .*publish it as note@2"):
        publish_signed(suite, other)
    assert archive.path.read_bytes() == before


def test_signed_copy_of_a_packed_version_is_written_to_the_folder(suite: Path, key: Path, tmp_path: Path) -> None:
    """Archives that ship with the package are packed, and stay as they are."""
    published = publish_suite(suite, tmp_path / "to")[0]
    packed = tmp_path / "shipped" / "note@1.clerkship.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(published.path.read_bytes()))
    published.path.unlink()
    signed = sign_published(replace(published, path=packed), load_private_key(key), tmp_path / "to")
    assert signed.path == published.path
    assert open_archive(signed.path).digest == open_archive(packed).digest
    assert describe_signature(open_archive(packed), Settings()).state == "unsigned"


def write_signature(archive: Archive, **fields: object) -> Archive:
    """Change the signature of an archive."""
    signature = {**orjson.loads(archive.signature), **fields}
    data = archive.path.read_bytes()
    archive.path.write_bytes(change_contents(data, lambda contents: contents.update({"signature.json": signature})))
    return open_archive(archive.path)


def encode(data: bytes) -> str:
    """Return bytes as in a signature."""
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"signature": encode(bytes(64))}, "it is not one of this version: the manifest or the signature was changed"),
        ({"signature": encode(b"short")}, "it is not one of this version: the manifest or the signature was changed"),
        ({"signature": "not base64!"}, "signature: Value error, expected base64"),
        ({"key_id": "0" * 32}, "its key id is not that of its public key"),
        ({"public_key": encode(bytes(32))}, "its key id is not that of its public key"),
        (
            {"public_key": encode(b"x"), "key_id": "2d711642b726b04401627ca9fbac32f5"},
            "its public key is not an Ed25519",
        ),
        ({"algorithm": "rsa"}, "algorithm: Input should be 'ed25519'"),
        ({"more": 1}, "more: Extra inputs are not permitted"),
    ],
)
def test_bad_signature_is_described_and_refused(suite: Path, key: Path, fields: Any, reason: str) -> None:
    archive = write_signature(publish_signed(suite, key), **fields)
    status = describe_signature(archive, Settings())
    assert status.is_bad
    assert status.reason.startswith(reason)
    with pytest.raises(InputError, match="note@1 has a bad signature"):
        load_archive(archive.path)
    with pytest.raises(InputError, match="note@1 has a bad signature"):
        publish_signed(suite, key)


@pytest.mark.parametrize("data", [b"{", b"[]", b"null", b"[" * 9000, b'{"key_id": "1"}', b"\xff"])
def test_signature_that_is_no_signature_is_bad(suite: Path, data: bytes) -> None:
    archive = publish_signed(suite, None)
    archive.path.write_bytes(archive.add_signature(data))
    assert describe_signature(open_archive(archive.path), Settings()).is_bad


def test_signature_of_another_version_is_bad(suite: Path, key: Path) -> None:
    """A signature cannot be moved to other content, nor used if a program signed the bare digest."""
    archive = publish_signed(suite, key)
    private = load_private_key(key)
    for signature in (sign_digest(private, "0" * 64), None):
        fields = {"signature": encode(private.sign(archive.digest.encode()))} if signature is None else {}
        changed = write_signature(archive, **(orjson.loads(signature) if signature else fields))
        assert describe_signature(changed, Settings()).is_bad


def test_signature_can_be_checked_without_this_program(suite: Path, key: Path) -> None:
    archive = publish_signed(suite, key)
    signature = base64.b64decode(orjson.loads(archive.signature)["signature"])
    message = f"clerkship published version\nsha256:{archive.digest}\n".encode()
    load_public_key(key.with_name("clinic.pem.pub")).verify(signature, message)


def test_signature_is_not_checked_without_the_extra(suite: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = publish_signed(suite, key)
    monkeypatch.setitem(extras.EXTRAS, "sign", ("no_such_module",))
    status = describe_signature(archive, Settings(trusted_keys=("nothing.pem",)))
    assert status.state == "unchecked"
    assert "--extra sign" in str(status)
    published = load_archive(archive.path).published
    assert published is not None
    assert published.signed_by == NOT_CHECKED
    assert describe_signer(NOT_CHECKED, Settings()) == status
    with pytest.raises(InputError, match="signing needs a package that is not installed"):
        publish_signed(suite, key)


PKCS8 = (Encoding.PEM, PrivateFormat.PKCS8)
SPKI = (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def write_key(path: Path, data: bytes, mode: int = 0o600) -> Path:
    """Write a file with a mode."""
    path.write_bytes(data)
    path.chmod(mode)
    return path


def test_key_that_cannot_sign_is_refused_with_what_to_do(tmp_path: Path) -> None:
    good, other = ed25519.Ed25519PrivateKey.generate(), ec.generate_private_key(ec.SECP256R1())
    pem = good.private_bytes(*PKCS8, NoEncryption())
    cases = {
        "public": (good.public_key().public_bytes(*SPKI), 0o644, "it is a public key; sign with the private key"),
        "curve": (other.private_bytes(*PKCS8, NoEncryption()), 0o600, "a key of type EC; expected Ed25519"),
        "locked": (good.private_bytes(*PKCS8, BestAvailableEncryption(b"x")), 0o600, "the key is encrypted"),
        "text": (b"hello", 0o600, "it is not a key in a PEM file; make a pair of keys: `clerkship new-key FILE`"),
        "cut": (pem[:60], 0o600, "it is not a key in a PEM file"),
        "long": (b"x" * 20_000, 0o600, "it is not a key in a PEM file"),
        "world": (pem, 0o644, r"others can read this private key \(mode 0644\); run `chmod 600 "),
        "group": (pem, 0o640, r"others can read this private key \(mode 0640\)"),
    }
    for name, (data, mode, expected) in cases.items():
        with pytest.raises(InputError, match=expected):
            load_private_key(write_key(tmp_path / name, data, mode))
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match="the key cannot be read"):
            load_private_key(path)


def test_trusted_key_that_is_none_is_refused(suite: Path, key: Path, tmp_path: Path) -> None:
    archive = publish_signed(suite, key)
    other = ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(*SPKI)
    cases = {
        str(key): "it is a private key; trust its public key",
        str(write_key(tmp_path / "curve", other)): "expected Ed25519",
        str(write_key(tmp_path / "text", b"hello")): "it is not a key in a PEM file",
        str(tmp_path / "none"): "the key cannot be read: No such file or directory; CLERKSHIP_TRUSTED_KEYS has PEM",
    }
    for path, expected in cases.items():
        with pytest.raises(InputError, match=expected):
            describe_signature(archive, Settings(trusted_keys=(path,)))


def test_openssl_makes_keys_that_sign(suite: Path, tmp_path: Path) -> None:
    key = tmp_path / "openssl.pem"
    command = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    key.chmod(0o600)
    assert describe_signature(publish_signed(suite, key), Settings()).state == "unknown"


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLERKSHIP_STORE", str(tmp_path / "store.db"))


@pytest.mark.usefixtures("_here")
def test_run_says_who_signed_and_refuses_a_bad_signature(
    suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["new-key", "keys/clinic.pem"]) == 0
    key_id = capsys.readouterr().out.split()[-1]
    start = ["run", "note@1", "--agent", "oracle"]
    for options, expected in (([], "not signed"), (["--sign", "keys/clinic.pem"], "signed by an unknown key")):
        assert run(["publish", str(suite), "--as", "note@1", *options]) == 0
        assert run(start) == 0
        assert expected in capsys.readouterr().out
    monkeypatch.setenv("CLERKSHIP_TRUSTED_KEYS", os.fspath("keys/clinic.pem.pub"))
    assert run(start) == 0
    assert f"signed by a trusted key (clinic.pem.pub, {key_id})" in capsys.readouterr().out
    write_signature(open_archive(Path(".clerkship/published/note@1.clerkship")), signature=encode(bytes(64)))
    for command in (start, ["validate", "note@1"], ["rescore", "latest", "--by", "note@1"]):
        assert run(command) == 2
        assert "note@1 has a bad signature" in "".join(capsys.readouterr())
