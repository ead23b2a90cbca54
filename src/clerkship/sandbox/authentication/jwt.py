"""JSON Web Tokens (RFC 7519) with which the client of a CDS service identifies itself (CDS Hooks 2.0: security).

Their times are wall time, because real verifiers check them. They are credentials: they are never logged.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from clerkship.kit.extras import describe_install, is_installed
from clerkship.kit.secrets import new_name
from clerkship.model.errors import MissingExtra

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

ALGORITHM = "ES384"
ACCEPTED_ALGORITHMS = ("ES384", "RS384", "ES256", "RS256")
"""CDS Hooks 2.0 recommends the first two; real clients use the others too. No symmetric ones, and not `none`."""
MAX_JWT_LIFETIME = timedelta(minutes=5)
"""CDS Hooks 2.0 recommends that a JWT is valid for no more than five minutes."""
MAX_CLOCK_SKEW = timedelta(seconds=60)
"""How far the clock of a client may be ahead or behind."""
EXTRA = "jwt"
CDS_CLAIMS = ("iss", "aud", "exp", "iat", "jti")
SMART_CLAIMS = ("iss", "sub", "aud", "exp", "jti")
"""The claims that CDS Hooks 2.0 and SMART App Launch 2.2 require."""
SMART_ALGORITHMS = ("RS384", "ES384")
"""SMART App Launch 2.2 (client-confidential-asymmetric) requires both."""


class InvalidJwt(Exception):
    """A JWT that is not accepted. The text says why, and quotes nothing of the token."""


class SigningKey:
    """A key pair for ES384, from the system's randomness. Raises MissingExtra without the package that signs."""

    def __init__(self) -> None:
        if not is_installed(EXTRA):
            raise MissingExtra(f"JWTs cannot be signed; install the extra `{EXTRA}` with {describe_install(EXTRA)}")
        from joserfc.jwk import ECKey  # noqa: PLC0415  (few runs sign tokens, and the import takes long)

        self._key: ECKey = ECKey.generate_key("P-384", {"alg": ALGORITHM, "use": "sig"}, auto_kid=True)

    @property
    def public_keys(self) -> dict[str, Any]:
        """The public key as a JWK Set (RFC 7517 §5)."""
        return {"keys": [dict(self._key.as_dict(private=False))]}

    @property
    def private_key(self) -> dict[str, str]:
        """The algorithm, the `kid` and the private key in PEM (RFC 7468), as an agent gets them."""
        text = self._key.as_pem(private=True).decode()
        return {"algorithm": ALGORITHM, "kid": str(self._key.kid), "private_key": text}

    @property
    def secret_parts(self) -> list[str]:
        """The texts by which the private key is recognized: the lines of its PEM, and `d` of its JWK."""
        return [*self.private_key["private_key"].splitlines()[1:-1], str(self._key.as_dict(private=True)["d"])]

    def sign(
        self,
        *,
        issuer: str,
        audience: str,
        now: datetime,
        lifetime: timedelta = MAX_JWT_LIFETIME,
        keys_url: str = "",
        tenant: str = "",
    ) -> str:
        """Return a JWT with the header and the claims of CDS Hooks 2.0 (Trusting CDS Clients).

        `audience` is the endpoint of the service that is called, and `keys_url` the address of `public_keys`.
        """
        from joserfc import jwt  # noqa: PLC0415  (as above)

        header = {"alg": ALGORITHM, "kid": self._key.kid, "typ": "JWT", **({"jku": keys_url} if keys_url else {})}
        claims: dict[str, Any] = {
            "iss": issuer,
            "aud": audience,
            "iat": int(now.timestamp()),
            "exp": int((now + min(lifetime, MAX_JWT_LIFETIME)).timestamp()),
            "jti": new_name("jwt"),
            **({"tenant": tenant} if tenant else {}),
        }
        return jwt.encode(header, claims, self._key, algorithms=[ALGORITHM])


def check_extra() -> None:
    """Raise ValueError without the package that reads keys."""
    if not is_installed(EXTRA):
        raise ValueError(f"public keys need the extra `{EXTRA}`; install it with {describe_install(EXTRA)}")


def parse_key_set(data: Any) -> "KeySet":
    """Parse a JWK Set with public keys; raises ValueError, also without the package that reads keys."""
    check_extra()
    from joserfc.errors import JoseError  # noqa: PLC0415  (as above)
    from joserfc.jwk import KeySet  # noqa: PLC0415

    keys = data.get("keys") if isinstance(data, Mapping) else None
    if not isinstance(keys, list) or not keys or not all(isinstance(key, dict) for key in keys):
        raise ValueError("expected a JWK Set: an object whose `keys` has one or more keys")
    for number, key in enumerate(keys):
        if key.get("kty") not in ("EC", "RSA"):
            raise ValueError(f"keys[{number}].kty must be EC or RSA")
        if any(name in key for name in ("d", "p", "q")):
            raise ValueError(f"keys[{number}] is a private key; register the public one")
    try:
        return KeySet.import_key_set({"keys": keys})
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"a key cannot be read: {type(error).__name__}") from None


def verify_jwt(
    token: str, keys: "KeySet", audiences: Iterable[str], now: datetime, *, is_smart: bool = False
) -> dict[str, Any]:
    """Return the claims of a JWT that identifies a client, of a CDS service or of SMART; raises InvalidJwt.

    Whether its `jti` was used before is for the caller to check.
    """
    claims = check_signature(token, keys, SMART_ALGORITHMS if is_smart else ACCEPTED_ALGORITHMS)
    _check_claims(claims, frozenset(audiences), now, SMART_CLAIMS if is_smart else CDS_CLAIMS)
    return claims


def check_signature(token: str, keys: "KeySet", algorithms: Iterable[str] = ACCEPTED_ALGORITHMS) -> dict[str, Any]:
    """Return the claims of a JWT that one of the keys has signed, whatever they say; raises InvalidJwt."""
    from joserfc import jwt  # noqa: PLC0415  (as above)
    from joserfc.errors import JoseError  # noqa: PLC0415

    try:
        return dict(jwt.decode(token, keys, algorithms=list(algorithms)).claims)
    except (JoseError, ValueError, TypeError, KeyError):
        raise InvalidJwt("the JWT cannot be read, or no registered key has signed it") from None


def _check_claims(
    claims: Mapping[str, Any], audiences: frozenset[str], now: datetime, required: tuple[str, ...]
) -> None:
    missing = [name for name in required if not claims.get(name)]
    if missing:
        raise InvalidJwt(f"the JWT has no {missing[0]}")
    if not isinstance(claims["iss"], str) or not isinstance(claims["jti"], str):
        raise InvalidJwt("iss and jti must be texts")
    at, skew = now.timestamp(), MAX_CLOCK_SKEW.total_seconds()
    expires, issued = claims["exp"], claims.get("iat", at)
    if any(isinstance(at, bool) or not isinstance(at, int | float) for at in (expires, issued)):
        raise InvalidJwt("exp and iat must be numbers of seconds")
    if at > expires + skew:
        raise InvalidJwt("the JWT has expired")
    if issued > at + skew:
        raise InvalidJwt("the JWT was issued in the future")
    if expires - (issued if "iat" in required else at) > MAX_JWT_LIFETIME.total_seconds() + skew:
        raise InvalidJwt("the JWT is valid for more than five minutes")
    named = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    if not audiences.intersection(str(each) for each in named):
        raise InvalidJwt("the JWT is for another audience")
