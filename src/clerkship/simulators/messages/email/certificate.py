"""The certificate of the SMTP listener: self-signed, made when it opens, and never logged."""

import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

HOST_NAME = "localhost"
NOT_BEFORE, NOT_AFTER = datetime(2020, 1, 1, tzinfo=UTC), datetime(2049, 12, 31, tzinfo=UTC)
"""A fixed validity, so that no clock is needed; clients compare it with theirs."""


@dataclass(frozen=True)
class ServerCertificate:
    """A certificate, and the TLS settings of a server that has its key."""

    pem: str
    context: ssl.SSLContext


def make_certificate(host: str) -> ServerCertificate:
    """Make a certificate for the local host and one of its addresses."""
    # Imported here because cryptography takes a tenth of a second to load.
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST_NAME)])
    names: list[x509.GeneralName] = [x509.DNSName(HOST_NAME), x509.IPAddress(ip_address(host))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOT_BEFORE)
        .not_valid_after(NOT_AFTER)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return ServerCertificate(pem.decode(), _build_context(pem + private))


def _build_context(chain: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.TemporaryDirectory() as folder:  # ssl reads keys from files only
        path = Path(folder) / "chain.pem"
        path.touch(mode=0o600)
        path.write_bytes(chain)
        context.load_cert_chain(path)
    return context
