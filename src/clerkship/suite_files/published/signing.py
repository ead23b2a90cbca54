"""Sign published versions with Ed25519 (RFC 8032), and say who signed them.

A signature covers the digest of the manifest, which has the hash of everything else. It is an entry beside the
manifest, so that it does not change the digest. Keys are PEM files: PKCS #8 for private ones, SPKI for public ones.
"""

import base64
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson
from pydantic import ValidationError

from clerkship.kit.extras import describe_install, is_installed
from clerkship.model.errors import InputError
from clerkship.model.frozen import Base64Text, Frozen
from clerkship.model.published import NOT_CHECKED
from clerkship.settings import Settings
from clerkship.suite_files.published.archive import Archive
from clerkship.suite_files.published.manifest import describe_invalid

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

EXTRA = "sign"
PUBLIC_SUFFIX = ".pub"
"""Added to the name of a private key for that of its public key."""
MAX_KEY_BYTES = 10_000
"""Limit for files from elsewhere: more than any key has, of a file that may be anything."""
_KEY_HINT = "make a pair of keys: `clerkship new-key FILE`"


class Signature(Frozen):
    """The signature of a published version, as in its archive."""

    algorithm: Literal["ed25519"] = "ed25519"
    key_id: str
    """The first 32 digits of the SHA-256 of the public key."""
    public_key: Base64Text
    signature: Base64Text


@dataclass(frozen=True)
class SignatureStatus:
    """What is known of the signature of a published version."""

    state: Literal["unsigned", "trusted", "unknown", "unchecked", "bad"]
    key_id: str = ""
    name: str = ""
    """The file name of a trusted key, if it is trusted by its file."""
    reason: str = ""
    """Why it is bad."""

    @property
    def is_bad(self) -> bool:
        """Whether the archive must not be used."""
        return self.state == "bad"

    def __str__(self) -> str:
        """Return it in words, for one line."""
        name = f"{self.name}, " if self.name else ""
        return {
            "unsigned": "not signed",
            "trusted": f"signed by a trusted key ({name}{self.key_id})",
            "unknown": f"signed by an unknown key ({self.key_id})",
            "unchecked": f"signed, but not checked: install {describe_install(EXTRA)}",
            "bad": f"bad signature: {self.reason}",
        }[self.state]


class BadSignature(ValueError):
    """A signature that is not one of the archive that contains it."""


def create_key_pair(path: Path) -> tuple[Path, str]:
    """Write a new private key to a file, and its public key beside it. Return the public file and the key id."""
    require_extra()
    # Imported here because cryptography takes a tenth of a second to load.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    private = Ed25519PrivateKey.generate()
    public = path.with_name(path.name + PUBLIC_SUFFIX)
    if public.exists():  # else the private key would be written, and its public key not
        raise InputError.of("the file exists already", file=str(public), hint="choose another name")
    _create(path, private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)
    _create(public, private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), 0o644)
    return public, compute_key_id(private.public_key().public_bytes_raw())


def _create(path: Path, data: bytes, mode: int) -> None:
    """Write a new file, which others cannot read before its mode is set."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
    except FileExistsError:
        hint = "choose another name: a key that is lost cannot be made again"
        raise InputError.of("the file exists already", file=str(path), hint=hint) from None
    except OSError as error:
        raise InputError.of(f"it cannot be written: {error.strerror}", file=str(path)) from None


def compute_key_id(public_key: bytes) -> str:
    """Return the id of a public key of 32 bytes."""
    return hashlib.sha256(public_key).hexdigest()[:32]


def require_extra() -> None:
    """Raise InputError if the package that signs is not installed."""
    if not is_installed(EXTRA):
        raise InputError.of("signing needs a package that is not installed", hint=f"install {describe_install(EXTRA)}")


def load_private_key(path: Path) -> "Ed25519PrivateKey":
    """Return the private key in a PEM file. Raise InputError if it is none, or others can read it."""
    require_extra()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    data, mode = _read_key(path, _KEY_HINT)
    if b"PUBLIC KEY" in data:
        raise InputError.of("it is a public key", file=str(path), hint="sign with the private key that belongs to it")
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        message = f"others can read this private key (mode {stat.S_IMODE(mode):04o})"
        raise InputError.of(message, file=str(path), hint=f"run `chmod 600 {path}`, or make a new one if others use it")
    key = _parse_key(path, data, lambda data: load_pem_private_key(data, None))
    if not isinstance(key, Ed25519PrivateKey):
        raise _wrong_type(path, key)
    return key


def load_public_key(path: Path) -> "Ed25519PublicKey":
    """Return the public key in a PEM file. Raise InputError if it is none."""
    require_extra()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

    data, _ = _read_key(path, "CLERKSHIP_TRUSTED_KEYS has PEM files of public keys or key ids, with commas between")
    if b"PRIVATE KEY" in data:
        hint = f"trust its public key; `clerkship new-key` writes one beside it, with `{PUBLIC_SUFFIX}` after its name"
        raise InputError.of("it is a private key", file=str(path), hint=hint)
    key = _parse_key(path, data, load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise _wrong_type(path, key)
    return key


def _read_key(path: Path, hint: str) -> tuple[bytes, int]:
    """Return the bytes and the mode of a file with a key."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_KEY_BYTES), os.fstat(file.fileno()).st_mode
    except OSError as error:
        raise InputError.of(f"the key cannot be read: {error.strerror}", file=str(path), hint=hint) from None


def _parse_key(path: Path, data: bytes, parse: Any) -> object:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415

    try:
        key: object = parse(data)
    except TypeError:  # it is asked for a password
        raise InputError.of(
            "the key is encrypted, which is not supported", file=str(path), hint="write it without a password"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise InputError.of("it is not a key in a PEM file", file=str(path), hint=_KEY_HINT) from None
    return key


def _wrong_type(path: Path, key: object) -> InputError:
    kind = type(key).__name__.lstrip("_").removesuffix("Key").removesuffix("Private").removesuffix("Public")
    return InputError.of(f"it is a key of type {kind}; expected Ed25519", file=str(path), hint=_KEY_HINT)


def _build_message(digest: str) -> bytes:
    """Return what is signed. It starts with what it is for, so that no signature of another program fits."""
    return f"clerkship published version\nsha256:{digest}\n".encode()


def sign_digest(key: "Ed25519PrivateKey", digest: str) -> bytes:
    """Return the entry with the signature of a digest: the same for the same key and digest."""
    public = key.public_key().public_bytes_raw()
    signature = Signature(
        key_id=compute_key_id(public),
        public_key=base64.b64encode(public).decode(),
        signature=base64.b64encode(key.sign(_build_message(digest))).decode(),
    )
    return orjson.dumps(signature.model_dump(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def _find_signer(archive: Archive) -> str:
    """Return the id of the key that signed an archive; empty if none did. Raise BadSignature if it does not fit."""
    if not archive.signature:
        return ""
    try:
        signature = Signature.model_validate(orjson.loads(archive.signature))
    except orjson.JSONDecodeError as error:
        raise BadSignature(f"it is not JSON: {error}") from None
    except ValidationError as error:
        raise BadSignature(describe_invalid(error)) from None
    public = base64.b64decode(signature.public_key)
    if compute_key_id(public) != signature.key_id:
        raise BadSignature("its key id is not that of its public key")
    return _verify(public, base64.b64decode(signature.signature), archive.digest) or signature.key_id


def _verify(public: bytes, signature: bytes, digest: str) -> str:
    """Raise BadSignature if a signature does not fit. Return `NOT_CHECKED` if it cannot be checked here."""
    if not is_installed(EXTRA):
        return NOT_CHECKED
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, _build_message(digest))
    except ValueError:
        raise BadSignature("its public key is not an Ed25519 key") from None
    except InvalidSignature:
        raise BadSignature("it is not one of this version: the manifest or the signature was changed") from None
    return ""


def require_signature(archive: Archive) -> str:
    """Return the id of the key that signed an archive; empty if none did. Raise InputError for a bad signature."""
    try:
        return _find_signer(archive)
    except BadSignature as error:
        message = f"{archive.manifest.name} has a bad signature: {error}"
        hint = "get the archive again from where it was published"
        raise InputError.of(message, file=str(archive.path), hint=hint) from None


def describe_signature(archive: Archive, settings: Settings) -> SignatureStatus:
    """Return what is known of the signature of an archive. Raise InputError if a trusted key cannot be read."""
    try:
        return describe_signer(_find_signer(archive), settings)
    except BadSignature as error:
        return SignatureStatus("bad", reason=str(error))


def describe_signer(signed_by: str, settings: Settings) -> SignatureStatus:
    """Return what is known of the key that signed a version, by what `PublishedVersion.signed_by` says."""
    if not signed_by:
        return SignatureStatus("unsigned")
    if signed_by == NOT_CHECKED:
        return SignatureStatus("unchecked")
    for key in settings.trusted_keys:
        if _is_key_id(key):
            if key == signed_by:
                return SignatureStatus("trusted", signed_by)
        elif compute_key_id(load_public_key(Path(key)).public_bytes_raw()) == signed_by:
            return SignatureStatus("trusted", signed_by, Path(key).name)
    return SignatureStatus("unknown", signed_by)


def _is_key_id(key: str) -> bool:
    return len(key) == 32 and not set(key) - set("0123456789abcdef")
