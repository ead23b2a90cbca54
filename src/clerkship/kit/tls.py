"""The certificate of our listeners, and the authority of client certificates."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clerkship.by_name import load
from clerkship.model.errors import InputError

if TYPE_CHECKING:
    import ssl


@dataclass(frozen=True)
class TlsFiles:
    """PEM files for TLS. They are read when a context is built."""

    certificate: Path
    """The certificate, followed by those of the authorities between it and the root."""
    key: Path | None = None
    """Its private key; None if it is in the file of the certificate."""
    client_ca: Path | None = None
    """The authority that signs the certificates of clients; None if clients have none."""

    def build_context(self, *, requires_client: bool = False) -> "ssl.SSLContext":
        """Return the settings of a server; raise InputError if a file cannot be used.

        With `requires_client`, a client needs a certificate of the authority.
        """
        tls = load("ssl")
        context: ssl.SSLContext = tls.SSLContext(tls.PROTOCOL_TLS_SERVER)
        context.minimum_version = tls.TLSVersion.TLSv1_2
        key = self.key or self.certificate
        try:
            context.load_cert_chain(self.certificate, key, password=_refuse_passphrase)
        except (OSError, ValueError) as error:
            raise InputError.of(
                f"cannot use the certificate {self.certificate} with the key {key}: {_describe(error)}",
                hint="expected PEM files: a certificate, and its private key without a passphrase",
            ) from None
        if requires_client and self.client_ca is not None:
            try:
                context.load_verify_locations(self.client_ca)
            except OSError as error:
                raise InputError.of(
                    f"cannot use the authority {self.client_ca}: {_describe(error)}", hint="expected a PEM file"
                ) from None
            context.verify_mode = tls.CERT_REQUIRED
        return context

    def check(self) -> None:
        """Raise InputError if a file cannot be used."""
        self.build_context(requires_client=True)


def _refuse_passphrase() -> str:
    raise ValueError("the key has a passphrase")


def _describe(error: Exception) -> str:
    return getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)
