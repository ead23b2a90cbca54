"""JWTs that a sandbox signs, and the check of JWTs of a client."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.sandbox.authentication.jwks import PUBLIC_KEYS
from clerkship.sandbox.authentication.jwt import InvalidJwt, SigningKey, parse_key_set, verify_jwt
from clerkship.sandbox.request import Request
from tests.sandbox.locked_simulators import build_locked_spec

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
SERVICE = "https://agent.example/cds-services/warn"
SIGNING_SPEC = build_locked_spec(routes=(PUBLIC_KEYS,), exercise=(Request("GET", "/jwks.json"),))


def sign(key: SigningKey, **changes: Any) -> str:
    options: dict[str, Any] = {"issuer": "https://ehr.example", "audience": SERVICE, "now": NOW}
    return key.sign(**(options | changes))


def check(token: str, key: SigningKey, now: datetime = NOW) -> dict[str, Any]:
    return verify_jwt(token, parse_key_set(key.public_keys), [SERVICE], now)


def test_a_signed_jwt_has_the_claims_of_cds_hooks() -> None:
    key = SigningKey()
    claims = check(sign(key, tenant="north"), key)
    assert claims.keys() == {"iss", "aud", "exp", "iat", "jti", "tenant"}
    assert claims["exp"] - claims["iat"] == 300
    assert claims["jti"] != check(sign(key), key)["jti"]


def test_public_keys_contain_no_private_part() -> None:
    (public,) = SigningKey().public_keys["keys"]
    assert "d" not in public
    assert public["alg"] == "ES384"


@pytest.mark.parametrize(
    ("token_of", "reason"),
    [
        (lambda key: sign(key, now=NOW - timedelta(minutes=10)), "expired"),
        (lambda key: sign(key, now=NOW + timedelta(minutes=10)), "future"),
        (lambda key: sign(key, audience="https://other.example"), "another audience"),
        (lambda key: sign(SigningKey()), "no registered key"),
        (lambda key: "x.y.z", "cannot be read"),
        (lambda key: sign(key).rpartition(".")[0] + ".AAAA", "no registered key"),
    ],
)
def test_an_invalid_jwt_is_refused_with_the_reason(token_of: Any, reason: str) -> None:
    key = SigningKey()
    with pytest.raises(InvalidJwt, match=reason):
        check(token_of(key), key)


@pytest.mark.parametrize(
    "data", [None, {}, {"keys": []}, {"keys": [{"kty": "oct", "k": "eA"}]}, {"keys": [{"kty": "EC"}]}]
)
def test_a_key_set_without_usable_public_keys_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="key"):
        parse_key_set(data)


def test_public_keys_are_served_without_a_credential_and_leave_no_event() -> None:
    with SimulatorRig(SIGNING_SPEC) as rig:
        reply = rig.send(Request("GET", "/jwks.json"), token="")
        assert reply.status == 200
        assert b'"kid"' in reply.body
        assert not rig.playground.log.events
